/** What holds back the changes of an object that another one owns. Its owner decides when it ends. */
export interface OwnerGate {
  /** `AwaitsTurn`: a change of what exists waits; `Draining`: everything waits, and activities are read. */
  readonly reason: 'AwaitsTurn' | 'Draining';
  readonly message: string;
  /**
   * Only what others changed in it waits, if correcting that would interrupt it. `asked`: its owner has not allowed it yet.
   * `allowed`: it may be corrected, unless somebody's work is in the way.
   */
  readonly correction?: 'asked' | 'allowed';
  /** Unix milliseconds since when it drains; 0: it does not drain yet, and is left as it is. */
  readonly since: number;
  /** It is to be removed, not only left as it is. */
  readonly removes?: true;
}
