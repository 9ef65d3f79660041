/** An operator command, and what became of it. */
export interface HandledCommand {
  /** Its text. */
  readonly command: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly result: 'Done' | 'Outdated';
  readonly message: string;
  /** The text of the annotation that was decided on last, if there was one. */
  readonly annotation?: string;
}

/** As the status shows it. */
export interface ShownCommand extends Pick<HandledCommand, 'command' | 'result' | 'message'> {
  /** RFC 3339. */
  readonly at: string;
}
