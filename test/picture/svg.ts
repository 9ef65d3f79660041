/** Screens of a terminal as one SVG: real text, readable on light and dark pages, and moved by CSS alone. */
import type { Run, Screen } from './terminal.ts';

const cell = { width: 8, height: 18 };
const margin = 16;
/** How long a screen is shown. */
const secondsEach = 2;

/** Colours of a terminal by their numbers, on light and on dark pages. */
const colours: Readonly<Record<number, readonly [light: string, dark: string]>> = {
  1: ['#b3261e', '#ff7b72'],
  2: ['#1a7f37', '#56d364'],
  3: ['#8a6100', '#e3b341'],
};
const page = { light: ['#ffffff', '#1f2328', '#59636e'], dark: ['#0d1117', '#e6edf3', '#9198a1'] } as const;

/** `title` describes the picture for those who do not see it. */
export function renderSvg(screens: readonly Screen[], columns: number, title: string): string {
  const rows = Math.max(...screens.map((screen) => screen.findLastIndex((line) => line.length > 0) + 1));
  const [width, height] = [columns * cell.width + 2 * margin, rows * cell.height + 2 * margin];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${styles(screens.length)}</style>`,
    `<rect class="p" width="${width}" height="${height}" rx="8"/>`,
    ...screens.map((screen, index) => frame(screen, index, screens.length)),
    '</svg>',
    '',
  ].join('\n');
}

function styles(count: number): string {
  const share = 100 / count;
  const shades = (shade: 0 | 1, [back, text, dim]: readonly string[]) =>
    [
      `.p{fill:${back};stroke:${dim}}text{fill:${text}}.d{fill:${dim}}`,
      ...Object.entries(colours).map(([number, both]) => `.c${number}{fill:${both[shade]}}`),
    ].join('');
  return [
    `text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre}.b{font-weight:bold}`,
    shades(0, page.light),
    `@media(prefers-color-scheme:dark){${shades(1, page.dark)}}`,
    `@keyframes s{0%,${share.toFixed(3)}%{visibility:visible}${(share + 0.001).toFixed(3)}%,100%{visibility:hidden}}`,
    // Without movement, the last screen is shown.
    `.f{visibility:hidden;animation:s ${count * secondsEach}s step-end infinite}.f:last-of-type{visibility:visible}`,
    `@media(prefers-reduced-motion:reduce){.f{animation:none}}`,
  ].join('');
}

function frame(screen: Screen, index: number, count: number): string {
  const texts = screen.flatMap((line, row) => line.map((run) => textOf(run, row)));
  return `<g class="f" style="animation-delay:${(index - count) * secondsEach}s">\n${texts.join('\n')}\n</g>`;
}

function textOf({ column, text, style }: Run, row: number): string {
  const { colour, bold, dim } = style;
  const known = colour !== undefined && colours[colour] ? [`c${colour}`] : [];
  const classes = [...known, ...(bold ? ['b'] : []), ...(dim ? ['d'] : [])].join(' ');
  const [x, y] = [margin + column * cell.width, margin + row * cell.height + 13];
  const name = classes === '' ? '' : ` class="${classes}"`;
  return `<text x="${x}" y="${y}"${name} textLength="${text.length * cell.width}">${escaped(text)}</text>`;
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => escapes[character] ?? '');
}
