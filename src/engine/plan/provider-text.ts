/** Texts of the provider are data. They are shown in one line, bounded, and without secrets or control characters. */
import { foreignText } from '../../base/index.ts';

/** `secrets`: values that must not be repeated. */
export function providerText(text: string, secrets: readonly string[] = [], longest = 500): string {
  return foreignText(text, { secrets, longest });
}
