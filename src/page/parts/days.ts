/** Amounts of days, as bars; at most 62. Pure. */
import { html, svg, type TemplateResult } from 'lit-html';
import { usd } from '../format.ts';

export interface Day {
  readonly date: string;
  readonly micros: number;
}

const width = 10;
const height = 60;

export function dayBars(days: readonly Day[]): TemplateResult {
  const most = Math.max(1, ...days.map(({ micros }) => micros));
  const [first, last] = [days[0]?.date ?? '', days.at(-1)?.date ?? ''];
  const label = `${days.length} days from ${first} to ${last}, at most ${usd(most)}`;
  return html`<svg
      class="days"
      viewBox="0 0 ${days.length * width} ${height}"
      preserveAspectRatio="none"
      role="img"
      aria-label=${label}
    >
      ${days.map(({ date, micros }, index) => {
        const tall = Math.max(1, (height * micros) / most);
        return svg`<rect x=${index * width + 1} y=${height - tall} width=${width - 2} height=${tall}><title>${date}: ${usd(micros)}</title></rect>`;
      })}
    </svg>
    <div class="line muted small">
      <span>${first}</span><span>at most ${usd(most)} a day</span><span>${last}</span>
    </div>`;
}
