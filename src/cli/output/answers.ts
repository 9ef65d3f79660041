/** What an outcome means to a person who asked for it on the command line. */
import { describeOutcome, type Outcome } from '../../api/index.ts';
import { UserError } from '../../base/index.ts';

/** A request that was not answered as it should be. */
export class RequestFailed extends UserError {
  readonly outcome: Exclude<Outcome<unknown>, { kind: 'applied' }>;

  constructor(attempt: string, outcome: RequestFailed['outcome']) {
    super(`can't ${attempt}: ${describeOutcome(outcome)}`, remedyFor(outcome));
    this.outcome = outcome;
  }
}

/**
 * The value of an answered request. Anything else throws a `UserError` with a remedy. `attempt`: such as `read the
 * logs of web`. `stopped`: of a read that ends when the process is stopped; then there is nothing else to report.
 */
export function answerTo<Value>(attempt: string, outcome: Outcome<Value>, stopped?: AbortSignal): Value {
  if (outcome.kind === 'applied') return outcome.value;
  if (stopped?.aborted) throw new UserError('stopped');
  throw new RequestFailed(attempt, outcome);
}

function remedyFor(outcome: Exclude<Outcome<unknown>, { kind: 'applied' }>): string {
  if (outcome.kind === 'not-sent') return 'check the address of the API, and that it can be reached';
  if (outcome.kind === 'unknown') return 'try again; if it stays so, check the address and the network';
  switch (outcome.status) {
    case 401:
      return 'the API does not accept the key: check FLEETKEEPER_API_KEY, or the Secret that the Account names';
    case 403:
      return 'the account may not do this: check its rights, and that its email is verified';
    case 404:
      return 'it is gone, or not of this account: check --account, and `fleetkeeper inventory --all`';
    case 429:
      return `try again in ${Math.ceil((outcome.retryAfterMs ?? 10_000) / 1000)} s`;
    case 503:
      return 'the API is busy or down: try again in a while';
    default:
      return 'see the answer of the API, and `fleetkeeper status` for the state of the service';
  }
}
