/** Documents as people write them. */
export function service(name: string, more = ''): string {
  return `apiVersion: fleetkeeper.dev/v1alpha1
kind: ContainerService
metadata:
  name: ${name}
spec:
  region: standard
  image: ghcr.io/acme/web:1
  resources: {gpuCount: 1, cpu: 8, memoryGb: 32}
${more}`;
}

export function volume(name: string, more = ''): string {
  return `apiVersion: fleetkeeper.dev/v1alpha1
kind: StorageVolume
metadata: {name: ${name}}
spec: {region: standard, sizeGb: 20${more}}
`;
}

export function secret(name: string, key: string, value: string): string {
  return `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}}\nstringData: {${key}: "${value}"}\n`;
}

export function configMap(name: string, key: string, value: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {${key}: "${value}"}\n`;
}

export function documents(...texts: string[]): string {
  return texts.join('---\n');
}
