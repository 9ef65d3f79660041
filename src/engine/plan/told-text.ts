/** Texts of the provider are data: of one line, bounded, without our secrets and without anything that a terminal obeys. */
import { foreignText } from '../../base/index.ts';

/** `secrets`: values that must not be repeated. */
export function toldText(text: string, secrets: readonly string[] = [], longest = 500): string {
  return foreignText(text, { secrets, longest });
}
