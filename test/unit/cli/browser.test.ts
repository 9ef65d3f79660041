/** When a browser is opened, with which program, and that nothing follows from its failure. */
import { describe, expect, test } from 'vitest';
import { openerFor, openPage, type Desktop, type OpenFlags } from '../../../src/cli/browser.ts';
import { contextOf } from './support.ts';

const url = 'http://127.0.0.1:4711/';
const display = { DISPLAY: ':0' };

interface Place {
  readonly platform?: string;
  readonly isTerminal?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
}

function opener(
  flags: OpenFlags,
  { platform = 'linux', isTerminal = true, environment = display }: Place = {},
) {
  const chosen = openerFor({ platform, isTerminal, environment }, url, flags);
  return 'file' in chosen ? `${chosen.file} ${chosen.args.join(' ')}` : `not: ${chosen.without}`;
}

test.each([
  ['linux', display, `xdg-open ${url}`],
  ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, `xdg-open ${url}`],
  ['darwin', {}, `open ${url}`],
  ['win32', {}, `cmd /c start ${url}`],
])('on a terminal of %s with %j it is opened: %s', (platform, environment, expected) => {
  expect(opener({}, { platform, environment })).toBe(expected);
});

test.each<[string, Place]>([
  ['the output is no terminal', { isTerminal: false }],
  ['this is CI', { environment: { ...display, CI: '1' } }],
  ['BROWSER is none', { environment: { ...display, BROWSER: 'none' } }],
  ['this is a session over SSH', { environment: { ...display, SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22' } }],
  ['this is a session over SSH', { platform: 'darwin', environment: { SSH_TTY: '/dev/pts/1' } }],
  ['there is no display (DISPLAY and WAYLAND_DISPLAY are not set)', { environment: { DISPLAY: '' } }],
])('nobody expects a browser where %s', (why, place) => {
  expect(opener({}, place)).toBe(`not: ${why}`);
});

test('--open needs no terminal, --no-open opens nothing, and CI=false is none', () => {
  const environment = { ...display, CI: 'true' };
  expect(opener({ open: true }, { isTerminal: false, environment })).toBe(`xdg-open ${url}`);
  expect(opener({ open: false })).toBe('not: --no-open is given');
  expect(opener({}, { environment: { ...display, CI: 'false' } })).toBe(`xdg-open ${url}`);
});

describe('a browser that does not start', () => {
  function complaints(launch: Desktop['launch'], flags: OpenFlags, environment = display): string {
    let written = '';
    const context = contextOf(
      { environment, terminal: true, desktop: { platform: 'linux', launch } },
      { stdout: () => undefined, stderr: (text) => (written += text) },
      new AbortController().signal,
    );
    openPage(context, url, flags);
    return written;
  }
  const throws = () => {
    throw new Error('spawn EPERM');
  };
  const fails: Desktop['launch'] = (_file, _args, onFailure) => onFailure(new Error('spawn xdg-open ENOENT'));

  test("is nobody's failure, and reported only to who asked for it", () => {
    expect(complaints(throws, {})).toBe('');
    expect(complaints(fails, {})).toBe('');
    expect(complaints(throws, { open: true })).toContain(
      `xdg-open did not start: spawn EPERM. The page is ${url}`,
    );
    expect(complaints(fails, { open: true })).toContain('spawn xdg-open ENOENT');
  });

  test('is reported, too, where there is no display', () => {
    expect(complaints(fails, { open: true }, { DISPLAY: '' })).toContain('there is no display');
  });
});
