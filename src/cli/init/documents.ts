/** The texts of a first folder. Pure. */
import { ignoreText } from '../ignored-files.ts';
import { stringify } from 'yaml';
import { apiVersion } from '../../resources/index.ts';
import { account } from '../../kinds/account/declaration.ts';
import { containerService } from '../../kinds/container-service/declaration.ts';
import { storageVolume } from '../../kinds/storage-volume/declaration.ts';
import type { FirstService } from './choice.ts';

export interface NewFile {
  /** In the folder. */
  readonly name: string;
  readonly text: string;
  /** Only its owner may read it. */
  readonly isSecret?: boolean;
}

export interface Access {
  /** Undefined: the folder has a control plane of its own, and needs no Account. */
  readonly url: string | undefined;
  /** Undefined: the key stays in the environment. */
  readonly key: string | undefined;
}

export const keyFileName = 'api-key.yaml';

export function firstFiles(service: FirstService, { url, key }: Access): NewFile[] {
  return [
    ...(url === undefined ? [] : [{ name: 'account.yaml', text: accountText(url, key !== undefined) }]),
    ...(key === undefined ? [] : [{ name: keyFileName, text: keyText(key), isSecret: true }]),
    { name: 'web.yaml', text: serviceText(service) },
    { name: '.gitignore', text: ignoreText(key === undefined ? [] : [keyFileName]) },
  ];
}

function accountText(url: string, hasKeyFile: boolean): string {
  const key = hasKeyFile
    ? `  credentialsSecretRef:          # the key is in ${keyFileName}, which is not for git
    name: compute
    key: apiKey
`
    : '  # Its key is in FLEETKEEPER_API_KEY, or in the file that FLEETKEEPER_API_KEY_FILE names.\n';
  return `# The provider's account. All objects in this folder are in it.
apiVersion: ${apiVersion}
kind: ${account.name}
metadata:
  name: default
spec:
  url: ${scalar(url)}
${key}  # minimumBalanceMicros: 5000000  # nothing is created that would leave less than 5 USD after an hour
`;
}

function keyText(key: string): string {
  return `# Keep it to yourself: whoever has this key can spend the account's money.
apiVersion: v1
kind: Secret
metadata:
  name: compute
stringData:
  apiKey: ${scalar(key)}
`;
}

function serviceText({ region, image, httpPort, resources, hourlyMicros }: FirstService): string {
  const price = hourlyMicros === undefined ? '' : `${usd(hourlyMicros)} USD an hour with these resources; `;
  const port =
    httpPort === undefined
      ? '  # httpPort: 8080               # where it answers; `fleetkeeper open web` prints the address\n'
      : `  httpPort: ${httpPort}                   # where it answers; \`fleetkeeper open web\` prints the address\n`;
  const size = `{gpuCount: ${resources.gpuCount}, cpu: ${resources.cpu}, memoryGb: ${resources.memoryGb}}`;
  return `# A service is one container, kept as it is declared here. Change a line, and \`fleetkeeper plan\` shows what follows.
apiVersion: ${apiVersion}
kind: ${containerService.name}
metadata:
  name: web
spec:
  # ${price}\`fleetkeeper catalog\` has all regions.
  region: ${scalar(region)}
  image: ${scalar(image)}
  resources: ${size}
${port}  # env:
  #   - {name: GREETING, value: hello}
  # storage: {volumeRef: {name: web-data}}   # the volume below, at /workspace
# ---
# apiVersion: ${apiVersion}
# kind: ${storageVolume.name}
# metadata:
#   name: web-data
# spec:
#   region: ${scalar(region)}
#   sizeGb: 10
#   deletionPolicy: Delete         # without it, the volume stays when its document is removed
`;
}

/** On one line, quoted where it has to be. */
function scalar(text: string): string {
  return stringify(text, { lineWidth: 0, blockQuote: false, defaultStringType: 'PLAIN' }).trimEnd();
}

function usd(micros: number): string {
  return (micros / 1_000_000).toFixed(4);
}
