/**
 * Makes sure that a key still belongs to the account that it belonged to when it was first used.
 *
 *     unchecked ── origin durable ──> GET /api/me ──> ours ──> trusted ── doubt, rejected, another key ──> unchecked
 *                                         │     └── another account's ──> unchecked: nothing is read or sent but /api/me
 *                                         └── not sent ──> unchecked, and an origin that was new is taken back
 *
 * A doubt stops no heartbeats: a key that was trusted protects with them until it is rejected, or is found to be another account's; also when
 * the document or the Secret that it was in has gone (with a mount, perhaps).
 *
 * A key that may not be sent to the account's origin (engine/plan/origin.ts) is not even asked about: it is held, and only heartbeats may go on, to the
 * origin and with the key that were trusted before.
 *
 * A key whose identity has not been checked is used for nothing else (api/client.ts asks), so neither can a mutation
 * go to a stranger's account nor an absence be seen in it. Nor is it before the pin is durable: the next process would not know where the
 * key may go, and would send it to whatever address the Account says by then. So the key of a document is not even asked about before its
 * origin is durable; an identity follows when the API has answered. What a person accepts is named in the document or in a flag.
 */
import type { CredentialTrust, Lane, Outcome, wire } from '../api/index.ts';
import { messageOf, sameValue, type Sensitive } from '../base/index.ts';
import { readProblem, type IdentityCheck, type ReadProblem } from '../observed/index.ts';
import {
  identityName,
  judgeIdentity,
  tellsWho,
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
  /** None while it is held. */
  readonly credential: () => Sensitive<string> | undefined;
  /** Scheme, host and port that it is sent to. */
  readonly origin: string;
  /** Why no key may be sent there. */
  readonly hold: () => OriginHold | undefined;
  /** What a person is to do when there is no key. */
  readonly keyRemedy: () => string;
  readonly me: (
    credential: Sensitive<string>,
    signal: AbortSignal,
    lane: Lane,
  ) => Promise<Outcome<wire.Identity>>;
  /** Whether there are tasks that are beaten for in the account. */
  readonly heartbeatsWait: () => boolean;
  /** The key that was trusted last, of an earlier document of the same account; it is not trusted here yet. */
  readonly lastKnown: Sensitive<string> | undefined;
  /** The API has said that the key is not valid. */
  readonly onRejected: () => void;
  /** Names of identities that a person has said to be right. */
  readonly accepted: () => readonly string[];
  /** Where a person says so: a flag, or an annotation. */
  readonly isDocument: boolean;
  readonly logger: Logger;
}

export class IdentityWatch implements IdentityCheck, CredentialTrust, AccountIdentity {
  readonly #options: IdentityWatchOptions;
  #trusted: Sensitive<string> | undefined;
  #lastTrusted: Sensitive<string> | undefined;
  /** Trusted at some time, whatever the API has said of it since. */
  #lastKnown: Sensitive<string> | undefined;
  #seen: wire.Identity | undefined;

  constructor(options: IdentityWatchOptions) {
    this.#options = options;
    this.#lastKnown = options.lastKnown;
  }

  /** An address that is not verified is asked about again at each read: nothing else would tell that it is now. */
  get current(): boolean {
    const credential = this.#options.credential();
    return credential !== undefined && this.trusts(credential, 'ordinary') && this.emailVerified !== false;
  }

  /** The pinned account's name; undefined when there is nothing to tell it by. */
  get name(): string | undefined {
    const pin = this.#options.store.identityPin(this.#options.account);
    return pin && tellsWho(pin) ? identityName(pin) : undefined;
  }

  get emailVerified(): boolean | undefined {
    return this.#seen?.emailVerified ?? undefined;
  }

  get lastTrusted(): Sensitive<string> | undefined {
    return this.#options.hold()?.heartbeats === false ? undefined : this.#lastTrusted;
  }

  get lastKnown(): Sensitive<string> | undefined {
    return this.#lastKnown;
  }

  /** Heartbeats can go out: the key that they would have is trusted for them. */
  get letsBeat(): boolean {
    const credential = this.#options.credential() ?? this.#lastKnown;
    return credential !== undefined && this.trusts(credential, 'heartbeat');
  }

  trusts(credential: Sensitive<string>, lane: Lane): boolean {
    if (lane !== 'heartbeat' && this.#options.hold()) return false;
    const trusted = lane === 'heartbeat' ? this.lastTrusted : this.#trusted;
    return trusted?.reveal() === credential.reveal();
  }

  doubt(): void {
    this.#trusted = undefined;
  }

  rejected(): void {
    this.doubt();
    this.#lastTrusted = undefined;
    this.#options.onRejected();
  }

  async check(signal: AbortSignal): Promise<ReadProblem | undefined> {
    const { account, store, me, accepted, logger, origin } = this.#options;
    this.doubt();
    const hold = this.#options.hold();
    const own = hold ? undefined : this.#options.credential();
    const credential = own ?? (hold?.heartbeats === false ? undefined : this.#lastKnown);
    const absent = this.#absent(hold);
    const heartbeatsWait = !this.letsBeat && this.#options.heartbeatsWait();
    if (!credential || (!own && !heartbeatsWait)) return absent;
    const before = store.identityPin(account);
    const unwritten = own && (await this.#pinOrigin(own, before));
    if (unwritten) return unwritten;
    if (own && this.#options.hold()) return this.#absent(this.#options.hold());
    const outcome = await me(credential, signal, heartbeatsWait ? 'heartbeat' : 'ordinary');
    const identity =
      outcome.kind === 'applied' ? this.#withoutKey(outcome.value, credential) : hidden(outcome);
    if (own && outcome.kind === 'not-sent') await this.#takeBack(before);
    if (!identity) return readProblem(outcome as ReadProblem['outcome']);
    const pinned = store.identityPin(account);
    const verdict = judgeIdentity(identity, pinned, accepted(), store.digestKey);
    const heldSince = !hold && this.#options.hold();
    if (heldSince) return this.#absent(heldSince);
    if (verdict.kind === 'changed') {
      this.#lastTrusted = undefined;
      if (own && before?.origin !== undefined) await this.#takeBack(before);
      return this.#stranger(verdict);
    }
    const pin = pinAfter(verdict, pinned, origin);
    const isPinned = sameValue(pin, pinned);
    if (!isPinned || !store.identityPinIsDurable(account)) {
      try {
        await store.saveIdentityPin(account, pin);
      } catch (error) {
        // Heartbeats go on to where they went.
        if (isPinned) this.#lastTrusted = this.#lastKnown = credential;
        const reason = `whose account it is could not be written down: ${messageOf(error)}`;
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

  /** An API may know an account by its key: that is pinned, logged and shown as a digest. */
  #withoutKey(identity: wire.Identity, credential: Sensitive<string>): wire.Identity {
    const { id } = identity;
    if (!id?.includes(credential.reveal())) return identity;
    return { ...identity, id: `digest-${this.#options.store.digestKey.digest(id)}` };
  }

  /** Where a key goes is written down before it goes there for the first time, whatever comes back. */
  async #pinOrigin(
    own: Sensitive<string>,
    before: IdentityPin | undefined,
  ): Promise<ReadProblem | undefined> {
    const { account, store, origin, isDocument } = this.#options;
    const isDurable = before?.origin === origin && store.identityPinIsDurable(account);
    // The account of the environment has its address and its key from one hand.
    if (isDurable || !isDocument) return undefined;
    try {
      await store.saveIdentityPin(account, { ...(before ?? nobody), origin });
      return undefined;
    } catch (error) {
      // This process has sent it there before.
      if (before?.origin === origin && this.#lastKnown?.reveal() === own.reveal()) return undefined;
      await this.#takeBack(before);
      const reason = `where its key goes could not be written down: ${messageOf(error)}`;
      return readProblem({ kind: 'not-sent', reason });
    }
  }

  /** Nothing has left: an address with a slip in it is corrected without a word about it. */
  async #takeBack(before: IdentityPin | undefined): Promise<void> {
    const { account, store, origin, isDocument, logger } = this.#options;
    if (!isDocument || before?.origin === origin) return;
    try {
      await store.saveIdentityPin(account, before);
    } catch (error) {
      logger.debug({ account, error: messageOf(error) }, 'the origin of the account stays pinned');
    }
  }

  /** Nothing can be asked with a key of the account. */
  #absent(hold: OriginHold | undefined): ReadProblem {
    const { reason, message } = hold ?? {
      reason: 'CredentialMissing' as const,
      message: `there is no API key for the account ${this.#options.account}: ${this.#options.keyRemedy()}`,
    };
    return { reason, outcome: { kind: 'not-sent', reason: message }, message };
  }

  #stranger({ pinned, seen }: IdentityVerdict & { kind: 'changed' }): ReadProblem {
    const { account, isDocument } = this.#options;
    const accept = isDocument
      ? `annotate the Account with ${annotations.acceptIdentity}: "${seen}"`
      : `say --accept-identity ${seen} once`;
    const message =
      `the API key of account ${account} belonged to the account ${pinned}, and now belongs to ${seen}: nothing is read, ` +
      `changed or deleted with it. Put the right key back. If ${seen} is meant, ${accept}; what is recorded as ours and not found there then counts as vanished`;
    return { reason: 'IdentityChanged', outcome: { kind: 'not-sent', reason: message }, message };
  }
}

const nobody: IdentityPin = { id: undefined, emailDigest: undefined };

/** With the origin, also when the API shows nothing to tell the account by. */
function pinAfter(
  verdict: Exclude<IdentityVerdict, { kind: 'changed' }>,
  pinned: IdentityPin | undefined,
  origin: string,
): IdentityPin {
  const known = verdict.kind === 'ours' ? verdict.pin : (pinned ?? nobody);
  return { ...known, origin };
}

/** An API that does not let us see an identity shows none; undefined when it may yet. */
function hidden(outcome: Exclude<Outcome<wire.Identity>, { kind: 'applied' }>): wire.Identity | undefined {
  return outcome.kind === 'refused' && (outcome.status === 403 || outcome.status === 404) ? {} : undefined;
}
