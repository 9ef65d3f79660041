/** Managers that use another key than that of the account. */
import { AccountKeys } from '../../../src/manager/account-keys.ts';
import { replaced, type Mutant } from './tools.ts';

type KeyOf = AccountKeys['keyOf'];

/** Broken for folders and clusters alike; what finds them is edited in both. */
export const keys: readonly Mutant<never>[] = [
  {
    breaks: 'an account without a key of its own gets the one of the environment',
    foundBy: ['S11'],
    patch: () =>
      replaced(
        AccountKeys.prototype,
        'keyOf',
        (original): KeyOf =>
          function keyOf(this: AccountKeys, account, snapshot) {
            const own = original.call(this, account, snapshot);
            if (own.kind === 'key') return own;
            return original.call(this, { ...account, origin: { kind: 'environment' } }, snapshot);
          },
      ),
  },
  {
    breaks: 'a key is sent to whatever address its Account says',
    foundBy: ['S11'],
    patch: () => replaced(AccountKeys.prototype, 'holdOf', () => () => undefined),
  },
];
