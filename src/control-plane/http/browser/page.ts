/** The pages of browser sessions: no scripts, nothing from elsewhere, and every text escaped, because tenants wrote it. */
import { createHash } from 'node:crypto';
import type { ServiceRecord } from '../../store/records.ts';
import { stateText } from '../../store/records.ts';

const style =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem}' +
  'dt{color:#666}dd{margin:0 0 .75rem;overflow-wrap:anywhere;white-space:pre-wrap}.note{border-left:4px solid #c80;padding-left:1rem}';
const styleDigest = createHash('sha256').update(style).digest('base64');

export const pageHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleDigest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox`,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex',
};

/** What is known of a service that runs no container. */
export function servicePage(service: ServiceRecord): string {
  const { cpu, memoryGb, gpuCount } = service.resources;
  const facts = {
    name: service.name,
    state: stateText(service),
    image: service.image,
    resources: `${cpu} CPU, ${memoryGb} GB, ${gpuCount} GPU`,
    region: `${service.region}, ${service.geography}`,
    'HTTP port': service.httpPort === null ? 'none' : String(service.httpPort),
    id: service.id,
  };
  const list = Object.entries(facts).map(([term, text]) => `<dt>${term}</dt><dd>${escaped(text)}</dd>`);
  const note = '<p class="note">This control plane simulates containers: nothing runs here.</p>';
  return page(service.name, `${note}<dl>${list.join('')}</dl>`);
}

/** What nobody else wrote. */
export function messagePage(title: string, text: string): string {
  return page(title, `<p>${escaped(text)}</p>`);
}

function page(title: string, body: string): string {
  const heading = escaped(title);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${heading}</title><style>${style}</style></head><body><h1>${heading}</h1>${body}</body></html>\n`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Marks that reverse the direction of writing could make one text look like another. */
function escaped(text: string): string {
  return text
    .replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
    .replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, '');
}
