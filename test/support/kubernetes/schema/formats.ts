/** The formats that the API server checks; others say nothing. */
import { isIP, isIPv4, isIPv6 } from 'node:net';

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const dateTime = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;
const duration =
  /^(\d+(\.\d+)?\s*(ns|us|µs|ms|s|m|h|d|w|nanos?|micros?|millis?|sec(ond)?s?|min(ute)?s?|hours?|hrs?|days?|weeks?|wk)\s*)+$/i;

const checks: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': (text) => isDay(dateTime.exec(text)?.[1]) && !Number.isNaN(Date.parse(text)),
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && isDay(text),
  duration: (text) => duration.test(text),
  uuid: (text) => uuid.test(text),
  ipv4: isIPv4,
  ipv6: isIPv6,
  cidr: (text) => {
    const [address = '', bits = ''] = text.split('/');
    const version = isIP(address);
    return version !== 0 && /^\d+$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
  },
  uri: (text) => text !== '' && !/\s/.test(text) && (URL.canParse(text) || text.startsWith('/')),
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  hostname: (text) =>
    text.length <= 255 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*\.?$/i.test(text),
  byte: (text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text),
  mac: (text) => /^[0-9a-f]{2}([:-][0-9a-f]{2}){5}$/i.test(text),
};

/** Of the calendar: JavaScript takes the 30th of February for one of March. */
function isDay(text: string | undefined): boolean {
  const time = Date.parse(text ?? '');
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text ?? '');
}

export function matchesFormat(format: string, text: string): boolean {
  return checks[format]?.(text) ?? true;
}
