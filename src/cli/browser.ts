/**
 * Opens the page in a browser where one can be expected:
 *
 * | given       | what happens                                                                                        |
 * |-------------|-----------------------------------------------------------------------------------------------------|
 * | neither     | it is opened on a terminal of this machine with a display; not in CI, over SSH, or with BROWSER=none |
 * | `--open`    | it is opened without a terminal, too; where there is no display, the reason is reported             |
 * | `--no-open` | it is not opened                                                                                    |
 *
 * The address is printed in any case. Nothing waits for the browser, and whatever it does, the command continues.
 */
import type { Command } from 'commander';
import { messageOf } from '../base/index.ts';
import { complain, type Context } from './context.ts';

/** How programs with windows are started. */
export interface Desktop {
  readonly platform: string;
  /** Does not wait. `onFailure` is called at most once. */
  readonly launch: (file: string, args: readonly string[], onFailure: (error: Error) => void) => void;
}

export interface OpenFlags {
  /** Undefined: where a browser can be expected. */
  readonly open?: boolean;
}

export function withOpenFlags(command: Command): Command {
  return command
    .option('--open', 'open the page in a browser, also where the output is no terminal')
    .option('--no-open', 'print the address of the page only');
}

type Opener = { readonly file: string; readonly args: readonly string[] };
type Choice = Opener | { readonly without: string };

/** Pure. */
export function openerFor(
  { environment, platform, isTerminal }: Pick<Context, 'environment'> & OpenedFrom,
  url: string,
  { open }: OpenFlags,
): Choice {
  if (open === false) return { without: '--no-open is given' };
  const given = (name: string) => (environment[name] ?? '') !== '';
  if (open === undefined) {
    if (!isTerminal) return { without: 'the output is no terminal' };
    if (given('CI') && environment['CI'] !== 'false') return { without: 'this is CI' };
    if (environment['BROWSER'] === 'none') return { without: 'BROWSER is none' };
    if (given('SSH_CONNECTION') || given('SSH_TTY')) return { without: 'this is a session over SSH' };
  }
  switch (platform) {
    case 'darwin':
      return { file: 'open', args: [url] };
    case 'win32':
      // The address has no blank and nothing else that `cmd` interprets.
      return { file: 'cmd', args: ['/c', 'start', url] };
    default:
      if (given('DISPLAY') || given('WAYLAND_DISPLAY')) return { file: 'xdg-open', args: [url] };
      return { without: 'there is no display (DISPLAY and WAYLAND_DISPLAY are not set)' };
  }
}

interface OpenedFrom extends Pick<Desktop, 'platform'> {
  readonly isTerminal: boolean;
}

/** Never throws. `url`: of this machine. */
export function openPage(context: Context, url: string, flags: OpenFlags): void {
  const { desktop, environment, stdout } = context;
  if (!desktop) return;
  const chosen = openerFor({ environment, platform: desktop.platform, isTerminal: stdout.isTTY }, url, flags);
  const report = (why: string) => {
    if (flags.open === true) complain(context, `can't open a browser: ${why}. The page is ${url}`);
  };
  if ('without' in chosen) return report(chosen.without);
  const { file, args } = chosen;
  try {
    desktop.launch(file, args, ({ message }) => report(`${file} did not start: ${message}`));
  } catch (error) {
    report(`${file} did not start: ${messageOf(error)}`);
  }
}
