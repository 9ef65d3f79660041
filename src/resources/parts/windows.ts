/**
 * Maintenance windows: the only times at which a service may be interrupted. A window opens at the times of `cron` in
 * `timeZone`, and stays open for `durationMinutes`. If clocks are put forward over an opening, it opens at the hour
 * after; if they are put back, it opens once.
 */
import { Cron } from 'croner';
import { z } from 'zod';
import { constrained, withRules, type CelRule } from './constraints.ts';

const minuteMs = 60_000;
const timeZoneForm = '^[A-Za-z0-9_+/:-]+$';

const messages = {
  timeZone: 'must be a time zone such as Europe/Berlin, or UTC',
  cron: 'must be a cron expression of five fields that comes true some day, such as "0 2 * * sat"',
} as const;

/**
 * What CEL can express: their form. Whether such a time or zone exists, the manager checks, and reports in a
 * condition and an Event.
 */
const formRules: readonly CelRule[] = [
  {
    rule: String.raw`self.cron.matches('^\\s*(@[A-Za-z]+|[^\\s]+(\\s+[^\\s]+){4})\\s*$')`,
    message: messages.cron,
    fieldPath: '.cron',
  },
  {
    rule: `self.timeZone.matches('${timeZoneForm}')`,
    message: messages.timeZone,
    fieldPath: '.timeZone',
  },
];

const formSchemas = [
  {
    properties: {
      cron: { pattern: String.raw`^\s*(@[A-Za-z]+|\S+(\s+\S+){4})\s*$`, errorMessage: messages.cron },
      timeZone: { pattern: timeZoneForm, errorMessage: messages.timeZone },
    },
  },
];

const windowFields = z
  .strictObject({
    cron: z
      .string()
      .max(256)
      .describe(
        'When a window opens: minute, hour, day of month, month, day of week, such as "0 2 * * sat".',
      ),
    durationMinutes: z.int().min(1).max(10_080).describe('How long it stays open, in minutes.'),
    timeZone: z
      .string()
      .max(64)
      .default('UTC')
      .describe('In which it is reckoned, such as Europe/Berlin (IANA time zone database).'),
  })
  .superRefine(({ cron, timeZone }, context) => {
    const path = isTimeZone(timeZone) ? 'cron' : 'timeZone';
    const message = messages[path];
    if (path === 'timeZone' || !isCron(cron)) context.addIssue({ code: 'custom', path: [path], message });
  });
export const disruptionWindow = withRules(windowFields, formRules, formSchemas);
/** For what has these fields beside others. */
export const windowForm = { rules: formRules, schemas: formSchemas } as const;
export type DisruptionWindow = z.infer<typeof disruptionWindow>;

/** Whether one of the windows is open now, and if not, when the next one opens (Unix milliseconds). */
export type WindowState = { readonly open: true } | { readonly open: false; readonly opensAt: number };

/** Without windows, it is always time. */
export function windowState(windows: readonly DisruptionWindow[] | undefined, nowMs: number): WindowState {
  if (!windows || windows.some((window) => isOpen(window, nowMs))) return { open: true };
  return { open: false, opensAt: Math.min(...windows.map((window) => nextOpening(window, nowMs))) };
}

/**
 * Whether it is open now, and when that changes (Unix milliseconds; infinite: never). If it opens once more before it closes,
 * it stays open for longer.
 */
export function windowSpan(
  window: DisruptionWindow,
  nowMs: number,
): { readonly isOpen: boolean; readonly changesAt: number } {
  const durationMs = window.durationMinutes * minuteMs;
  const openedAt = nextOpening(window, nowMs - durationMs);
  return openedAt <= nowMs
    ? { isOpen: true, changesAt: openedAt + durationMs }
    : { isOpen: false, changesAt: openedAt };
}

function isOpen(window: DisruptionWindow, nowMs: number): boolean {
  return nextOpening(window, nowMs - window.durationMinutes * minuteMs) <= nowMs;
}

/** The first opening after `fromMs`; never, when there is none. */
function nextOpening({ cron, timeZone }: DisruptionWindow, fromMs: number): number {
  const next = new Cron(cron, { timezone: timeZone, mode: '5-part' }).nextRun(new Date(fromMs));
  return next?.getTime() ?? Number.POSITIVE_INFINITY;
}

/** A time zone by itself, as a field. */
export const timeZone = constrained(z.string().max(64), {
  holds: isTimeZone,
  rule: `self.matches('${timeZoneForm}')`,
  schema: (errorMessage) => ({ pattern: timeZoneForm, errorMessage }),
  message: messages.timeZone,
});

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) instanceof Intl.DateTimeFormat;
  } catch {
    return false;
  }
}

function isCron(pattern: string): boolean {
  try {
    return new Cron(pattern, { mode: '5-part' }).nextRun(new Date(0)) !== null;
  } catch {
    return false;
  }
}
