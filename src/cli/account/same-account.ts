/** Commands that read an account on their own use no key that has become that of another account, as the manager does not. */
import type { ControlApi } from '../../api/index.ts';
import { UserError, type Sensitive } from '../../base/index.ts';
import { identifies, judgeIdentity, withoutKey } from '../../engine/plan/index.ts';
import { accountKey, annotations } from '../../resources/index.ts';
import type { FleetView } from './connection.ts';

/** `name`: `namespace/name`. Throws if another identity is recorded. What can't be compared now is shown by the command's own request. */
export async function refuseOtherAccount(
  { snapshot, store }: FleetView,
  name: string,
  api: Pick<ControlApi, 'me'>,
  key: Sensitive<string>,
  stopped: AbortSignal,
): Promise<void> {
  const pinned = store.identityPin(name);
  if (!pinned || !identifies(pinned)) return;
  const outcome = await api.me(key, stopped);
  if (outcome.kind !== 'applied') return;
  const accepted = snapshot.objects.get(accountKey(name))?.annotations[annotations.acceptIdentity];
  const identity = withoutKey(outcome.value, key, store.digestKey);
  const verdict = judgeIdentity(identity, pinned, accepted === undefined ? [] : [accepted], store.digestKey);
  if (verdict.kind !== 'changed') return;
  throw new UserError(
    `the API key of account ${name} belonged to the account ${verdict.pinned}, and now belongs to ${verdict.seen}: nothing is read with it`,
    `put the right key back; \`fleetkeeper plan\` shows how ${verdict.seen} is accepted`,
  );
}
