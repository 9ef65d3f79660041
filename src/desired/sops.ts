/** Documents that SOPS has encrypted. They are recognised and refused: fleetkeeper has no keys to decrypt them. Pure. */
import type { Finding } from './explain.ts';
import { isPlainMap } from './yaml.ts';

/** `sops:` at the root. */
export function isEncrypted(value: unknown): boolean {
  return isPlainMap(value) && isPlainMap(value['sops']);
}

/** Of a file in any of the formats that SOPS writes. */
export function isEncryptedText(text: string): boolean {
  return text.includes('ENC[AES256_GCM,') && /^(?:sops:|sops_version=|\[sops\])|"sops"\s*:/m.test(text);
}

const plainWord = /^[\w./@%+=,-]+$/;

/** `file`: of the document. `place`: `NAMESPACE/NAME` of a Secret. */
export function encryptedFinding(value: unknown, file: string, place: string | undefined): Finding {
  const message = 'the document is encrypted by SOPS, and fleetkeeper decrypts nothing';
  const [field, key] = firstKey(value);
  if (place === undefined || field === undefined) {
    return { path: ['sops'], message, remedy: 'decrypt it elsewhere, and move it out of the folder' };
  }
  const shown = plainWord.test(key) ? key : 'KEY';
  const decode = field === 'data' ? ' | base64 -d' : '';
  const target = `DIR/${place}`;
  const source = plainWord.test(file) && !file.startsWith('-') ? file : 'FILE';
  const command = `umask 077; mkdir -p ${target} && sops decrypt --extract '["${field}"]["${shown}"]' ${source}${decode} > ${target}/${shown}`;
  return {
    path: ['sops'],
    message,
    remedy: `decrypt each of its keys into a directory, \`${command}\`, pass --secrets-dir DIR, and move the document out of the folder`,
  };
}

function firstKey(value: unknown): [field: string | undefined, key: string] {
  for (const field of ['stringData', 'data']) {
    const entries = isPlainMap(value) ? value[field] : undefined;
    const [key] = isPlainMap(entries) ? Object.keys(entries) : [];
    if (key !== undefined) return [field, key];
  }
  return [undefined, ''];
}
