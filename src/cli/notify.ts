/** The flags of `run` about Notifications: which addresses their sinks may have beside public ones, and what messages link to. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { createSinkTransport } from '../api/index.ts';
import type { ManagerOptions } from '../manager/index.ts';
import type { Context } from './context.ts';
import { isWebAddress } from './web-address.ts';

export interface NotifyFlags {
  readonly notifyAllowLoopback?: boolean;
  readonly notifyAllowPrivate?: boolean;
  readonly pageUrl?: string;
}

export function withNotifyFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--notify-allow-private', 'sinks of Notifications may be in private networks (https only)'),
    )
    .addOption(
      new Option('--notify-allow-loopback', 'sinks of Notifications may be on this machine, also with http'),
    )
    .addOption(
      new Option(
        '--page-url <url>',
        'where people reach the page: messages of Notifications link to it',
      ).argParser(parsePageUrl),
    );
}

export function noticeTerms(
  { ports }: Pick<Context, 'ports'>,
  { notifyAllowLoopback = false, notifyAllowPrivate = false, pageUrl }: NotifyFlags,
): NonNullable<ManagerOptions['notices']> {
  return {
    allowLoopback: notifyAllowLoopback,
    allowPrivate: notifyAllowPrivate,
    pageUrl,
    createSinkTransport: ports?.network?.createSinkTransport ?? createSinkTransport,
  };
}

function parsePageUrl(text: string): string {
  const isPlain = isWebAddress(text, 'whole') && new URL(text).search === '' && new URL(text).hash === '';
  if (isPlain && !/[<>|]/.test(text)) return text;
  throw new InvalidArgumentError(
    'expected an http or https address without user name, password and query, such as https://fleet.example.com',
  );
}
