/**
 * Makes sure that a key still belongs to the account that it belonged to when it was first used.
 *
 *     unchecked ── origin durable ──> GET /api/me ──> same account ──> trusted ── recheck, rejected, new key ──> unchecked
 *                                         │     └── another account ──> unchecked: only /api/me is sent
 *                                         └── not sent ──> unchecked, and a new origin is unpinned
 *
 * - Heartbeats continue during a recheck. A key that was trusted once is used for them until the API rejects it, or
 *   identifies another account. That holds even if its document or Secret is gone (perhaps with a mount).
 * - A key that must not be sent to the account's origin (engine/plan/origin.ts) is held. Its identity is not checked either.
 *   Only heartbeats may continue, to the origin and with the key that were trusted before.
 * - Apart from heartbeats, an unchecked key is used for nothing (api/client.ts enforces it). So no mutation reaches a foreign
 *   account, and no absence is concluded from one.
 * - The pin is durable before the key is used. Otherwise the next process would send the key to whatever address the
 *   Account has by then. So the origin is pinned before the first `GET /api/me`, and the identity after it.
 * - An operator accepts another identity by an annotation of the document, or a flag.
 */
import type { CredentialTrust, Lane, Outcome, wire } from '../api/index.ts';
import { messageOf, sameValue, type Sensitive } from '../base/index.ts';
import { readProblem, type IdentityCheck, type ReadProblem } from '../observed/index.ts';
import {
  identityName,
  judgeIdentity,
  identifies,
  withoutKey,
  type IdentityVerdict,
  type OriginHold,
} from '../engine/plan/index.ts';
import type { AccountIdentity } from '../engine/index.ts';
import { annotations } from '../resources/index.ts';
import type { IdentityPin, StateStore } from '../state/index.ts';
import type { Logger } from '../telemetry/index.ts';

export interface IdentityWatchOptions {
  /** `namespace/name`. */
  readonly account: string;
  readonly store: StateStore;
  /** Undefined while there is none, or it is held. */
  readonly credential: () => Sensitive<string> | undefined;
  /** Scheme, host and port that it is sent to. */
  readonly origin: string;
  /** Why no key may be sent there. */
  readonly hold: () => OriginHold | undefined;
  /** How to provide a key when there is none. `isUnread`: there may be one, whose Secret has not been read yet. */
  readonly missingKey: () => { readonly remedy: string; readonly isUnread?: true };
  readonly me: (
    credential: Sensitive<string>,
    signal: AbortSignal,
    lane: Lane,
  ) => Promise<Outcome<wire.Identity>>;
  /** Whether tasks in the account need heartbeats. */
  readonly heartbeatsWait: () => boolean;
  /** The key that an earlier document of the same account trusted last. It is not trusted here yet. */
  readonly lastKnown: Sensitive<string> | undefined;
  /** The API rejected the key as invalid. */
  readonly onRejected: () => void;
  /** Names of identities that an operator has confirmed. */
  readonly accepted: () => readonly string[];
  /** Whether they are confirmed by an annotation, and not by a flag. */
  readonly isDocument: boolean;
  readonly logger: Logger;
}

export class IdentityWatch implements IdentityCheck, CredentialTrust, AccountIdentity {
  readonly #options: IdentityWatchOptions;
  #trusted: Sensitive<string> | undefined;
  #lastTrusted: Sensitive<string> | undefined;
  /** Trusted at some time, even if the API rejected it since. */
  #lastKnown: Sensitive<string> | undefined;
  #seen: wire.Identity | undefined;

  constructor(options: IdentityWatchOptions) {
    this.#options = options;
    this.#lastKnown = options.lastKnown;
  }

  /**
   * An unverified address is checked again with each read, since nothing else would show that it has been
   * verified.
   */
  get current(): boolean {
    const credential = this.#options.credential();
    return credential !== undefined && this.trusts(credential, 'ordinary') && this.emailVerified !== false;
  }

  /** The name of the pinned account. Undefined if nothing identifies it. */
  get name(): string | undefined {
    const pin = this.#options.store.identityPin(this.#options.account);
    return pin && identifies(pin) ? identityName(pin) : undefined;
  }

  get emailVerified(): boolean | undefined {
    return this.#seen?.emailVerified ?? undefined;
  }

  get lastTrusted(): Sensitive<string> | undefined {
    return this.#options.hold()?.heartbeats === false ? undefined : this.#lastTrusted;
  }

  get withheld(): string | undefined {
    return this.#options.hold()?.message;
  }

  get lastKnown(): Sensitive<string> | undefined {
    return this.#lastKnown;
  }

  /** Whether heartbeats can be sent: the key that they would use is trusted for them. */
  get letsHeartbeats(): boolean {
    const credential = this.#options.credential() ?? this.#lastKnown;
    return credential !== undefined && this.trusts(credential, 'heartbeat');
  }

  trusts(credential: Sensitive<string>, lane: Lane): boolean {
    if (lane !== 'heartbeat' && this.#options.hold()) return false;
    const trusted = lane === 'heartbeat' ? this.lastTrusted : this.#trusted;
    return trusted?.reveal() === credential.reveal();
  }

  recheck(): void {
    this.#trusted = undefined;
  }

  rejected(): void {
    this.recheck();
    this.#lastTrusted = undefined;
    this.#options.onRejected();
  }

  async check(signal: AbortSignal): Promise<ReadProblem | undefined> {
    const { account, store, me, accepted, logger, origin } = this.#options;
    this.recheck();
    const hold = this.#options.hold();
    const own = hold ? undefined : this.#options.credential();
    const credential = own ?? (hold?.heartbeats === false ? undefined : this.#lastKnown);
    const absent = this.#absent(hold);
    const heartbeatsWait = !this.letsHeartbeats && this.#options.heartbeatsWait();
    if (!credential || (!own && !heartbeatsWait)) return absent;
    const before = store.identityPin(account);
    const unwritten = own && (await this.#pinOrigin(own, before));
    if (unwritten) return unwritten;
    if (own && this.#options.hold()) return this.#absent(this.#options.hold());
    const outcome = await me(credential, signal, heartbeatsWait ? 'heartbeat' : 'ordinary');
    const identity =
      outcome.kind === 'applied' ? withoutKey(outcome.value, credential, store.digestKey) : hidden(outcome);
    if (own && outcome.kind === 'not-sent') await this.#takeBack(before);
    if (!identity) return readProblem(outcome as ReadProblem['outcome']);
    const pinned = store.identityPin(account);
    const verdict = judgeIdentity(identity, pinned, accepted(), store.digestKey);
    const heldSince = !hold && this.#options.hold();
    if (heldSince) return this.#absent(heldSince);
    if (verdict.kind === 'changed') {
      if (own && before?.origin !== undefined) await this.#takeBack(before);
      // It shows no other account: it shows none. The key that was trusted may still send heartbeats.
      if (outcome.kind !== 'applied') return this.#identityRefused(outcome, verdict);
      this.#lastTrusted = undefined;
      return this.#identityChanged(verdict);
    }
    const pin = pinAfter(verdict, pinned, origin);
    const isPinned = sameValue(pin, pinned);
    if (!isPinned || !store.identityPinIsDurable(account)) {
      try {
        await store.saveIdentityPin(account, pin);
      } catch (error) {
        // Heartbeats continue to the same origin.
        if (isPinned) this.#lastTrusted = this.#lastKnown = credential;
        const reason = `the identity of the account could not be recorded: ${messageOf(error)}`;
        return readProblem({ kind: 'not-sent', reason });
      }
      logger.info({ account, identity: identityName(pin), origin }, 'identity of the account pinned');
    }
    this.#seen = identity;
    this.#lastTrusted = credential;
    this.#lastKnown = credential;
    if (!own) return absent;
    this.#trusted = own;
    return undefined;
  }

  /** Pins the origin durably before the key is sent there for the first time. */
  async #pinOrigin(
    own: Sensitive<string>,
    before: IdentityPin | undefined,
  ): Promise<ReadProblem | undefined> {
    const { account, store, origin, isDocument } = this.#options;
    const isDurable = before?.origin === origin && store.identityPinIsDurable(account);
    // The environment supplies both the address and the key of its account.
    if (isDurable || !isDocument) return undefined;
    try {
      await store.saveIdentityPin(account, { ...(before ?? nobody), origin });
      return undefined;
    } catch (error) {
      // This process has sent it there before.
      if (before?.origin === origin && this.#lastKnown?.reveal() === own.reveal()) return undefined;
      await this.#takeBack(before);
      const reason = `the origin of its key could not be recorded: ${messageOf(error)}`;
      return readProblem({ kind: 'not-sent', reason });
    }
  }

  /** Nothing was sent. So a mistyped address can be corrected without a confirmation. */
  async #takeBack(before: IdentityPin | undefined): Promise<void> {
    const { account, store, origin, isDocument, logger } = this.#options;
    if (!isDocument || before?.origin === origin) return;
    try {
      await store.saveIdentityPin(account, before);
    } catch (error) {
      logger.debug({ account, error: messageOf(error) }, 'the origin of the account stays pinned');
    }
  }

  /** There is no usable key for the account. */
  #absent(hold: OriginHold | undefined): ReadProblem {
    const { account, missingKey } = this.#options;
    const { remedy, isUnread } = missingKey();
    const { reason, message } = hold ?? {
      reason: isUnread ? ('ApiUnreachable' as const) : ('CredentialMissing' as const),
      message: `${isUnread ? 'the API key is not known yet' : 'there is no API key'} for the account ${account}: ${remedy}`,
    };
    return { reason, outcome: { kind: 'not-sent', reason: message }, message };
  }

  #identityRefused(outcome: ReadProblem['outcome'], { pinned }: { readonly pinned: string }): ReadProblem {
    const problem = readProblem(outcome);
    const accept = this.#howToAccept('unknown');
    const message =
      `${problem.message}; so it is not known whether the API key of account ${this.#options.account} still belongs to the account ${pinned}, ` +
      `and nothing is read, changed or deleted with it. If this API does not show it any more, ${accept}`;
    return { ...problem, message };
  }

  #howToAccept(seen: string): string {
    return this.#options.isDocument
      ? `annotate the Account with ${annotations.acceptIdentity}: "${seen}"`
      : `pass --accept-identity ${seen} once`;
  }

  #identityChanged({ pinned, seen }: IdentityVerdict & { kind: 'changed' }): ReadProblem {
    const { account } = this.#options;
    const accept = this.#howToAccept(seen);
    const message =
      `the API key of account ${account} belonged to the account ${pinned}, and now belongs to ${seen}: nothing is read, ` +
      `changed or deleted with it. Put the right key back. If ${seen} is meant, ${accept}; recorded things that are missing there then count as vanished`;
    return { reason: 'IdentityChanged', outcome: { kind: 'not-sent', reason: message }, message };
  }
}

const nobody: IdentityPin = { id: undefined, emailDigest: undefined };

/** The origin is pinned even if the API shows nothing that identifies the account. */
function pinAfter(
  verdict: Exclude<IdentityVerdict, { kind: 'changed' }>,
  pinned: IdentityPin | undefined,
  origin: string,
): IdentityPin {
  const known = verdict.kind === 'ours' ? verdict.pin : (pinned ?? nobody);
  return { ...known, origin };
}

/** An API that denies access to identities shows none. Undefined if it still may. */
function hidden(outcome: Exclude<Outcome<wire.Identity>, { kind: 'applied' }>): wire.Identity | undefined {
  return outcome.kind === 'refused' && (outcome.status === 403 || outcome.status === 404) ? {} : undefined;
}
