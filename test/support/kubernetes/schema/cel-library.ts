/** CEL as Kubernetes has it: the language, and the functions that it adds. Quantities, IP addresses and formats are not there. */
import { Environment } from '@marcbachmann/cel-js';

type Comparable = bigint | number | string | boolean | Date;

class Url {
  readonly url: URL;

  constructor(text: string) {
    this.url = new URL(text);
  }
}

export function newEnvironment(): Environment {
  const environment = new Environment({ enableOptionalTypes: true });
  environment.registerType('URL', Url);
  addStrings(environment);
  addLists(environment);
  addUrls(environment);
  return environment;
}

function addStrings(environment: Environment): void {
  environment
    .registerFunction(
      'string.find(string): string',
      (text: string, pattern: string) => new RegExp(pattern, 'u').exec(text)?.[0] ?? '',
    )
    .registerFunction('string.findAll(string): list<string>', (text: string, pattern: string) => [
      ...(text.match(new RegExp(pattern, 'gu')) ?? []),
    ])
    .registerFunction('string.replace(string, string): string', (text: string, from: string, to: string) =>
      text.replaceAll(from, () => to),
    )
    .registerFunction('string.charAt(int): string', (text: string, index: bigint) =>
      text.charAt(Number(index)),
    );
}

const least = (one: Comparable, other: Comparable) => (other < one ? other : one);
const greatest = (one: Comparable, other: Comparable) => (other > one ? other : one);

function addLists(environment: Environment): void {
  environment
    .registerFunction('list<dyn>.isSorted(): bool', (list: readonly Comparable[]) =>
      list.every((item, index) => index === 0 || (list[index - 1] ?? item) <= item),
    )
    .registerFunction('list<dyn>.min(): dyn', (list: readonly Comparable[]) => list.reduce(least))
    .registerFunction('list<dyn>.max(): dyn', (list: readonly Comparable[]) => list.reduce(greatest))
    .registerFunction('list<int>.sum(): int', (list: readonly bigint[]) =>
      list.reduce((sum, one) => sum + one, 0n),
    )
    .registerFunction('list<dyn>.indexOf(dyn): int', (list: readonly unknown[], item: unknown) =>
      BigInt(list.indexOf(item)),
    )
    .registerFunction('list<dyn>.lastIndexOf(dyn): int', (list: readonly unknown[], item: unknown) =>
      BigInt(list.lastIndexOf(item)),
    );
}

function addUrls(environment: Environment): void {
  environment
    .registerFunction('isURL(string): bool', (text: string) => URL.canParse(text))
    .registerFunction('url(string): URL', (text: string) => new Url(text))
    .registerFunction('URL.getScheme(): string', ({ url }: Url) => url.protocol.slice(0, -1))
    .registerFunction('URL.getHost(): string', ({ url }: Url) => url.host)
    .registerFunction('URL.getHostname(): string', ({ url }: Url) => url.hostname)
    .registerFunction('URL.getPort(): string', ({ url }: Url) => url.port)
    .registerFunction('URL.getEscapedPath(): string', ({ url }: Url) => url.pathname);
}
