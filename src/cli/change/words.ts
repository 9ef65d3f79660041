/** What the commands that change a fleet and then end tell people. */
export type OneShotCommand = 'apply' | 'destroy';

interface Words {
  readonly question: string;
  /** There is nobody to ask. */
  readonly unasked: string;
  /** Somebody was asked, and did not agree. */
  readonly declined: string;
  /** What to do if an account can't be read. */
  readonly unreadable: string;
  readonly stopped: string;
  /** Of an object that the command is done with. */
  readonly goal: string;
}

export const words: Readonly<Record<OneShotCommand, Words>> = {
  apply: {
    question: 'Apply these changes',
    unasked: 'there are changes, and no terminal to ask: pass --yes to apply them',
    declined: 'not applied',
    unreadable:
      'nothing was applied: correct that first; `fleetkeeper run` works on the accounts that can be read',
    stopped: 'stopped; the next apply continues with the rest',
    goal: 'Ready',
  },
  destroy: {
    question: 'Destroy all of this',
    unasked: 'there is something to destroy, and no terminal to ask: pass --yes to destroy it',
    declined: 'nothing was destroyed',
    unreadable: 'nothing was destroyed: correct that first',
    stopped: 'stopped; the next destroy continues with the rest',
    goal: 'gone',
  },
};
