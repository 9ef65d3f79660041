/** A bar of an amount against its limit, in SVG: the policy of the page allows no style attribute. Pure. */
import { nothing, svg, html, type TemplateResult } from 'lit-html';

export interface Bar {
  readonly used: number;
  /** Beside what is used. */
  readonly reserved?: number | undefined;
  /** What it will have been at the end. */
  readonly forecast?: number | undefined;
  readonly limit: number;
  /** The limit is what is wanted: to be near it is no warning. */
  readonly isProgress?: boolean;
  /** For who can't see it. */
  readonly label: string;
}

const near = 80;

export function bar({ used, reserved = 0, forecast, limit, isProgress = false, label }: Bar): TemplateResult {
  const share = (amount: number) => Math.max(0, Math.min(100, limit > 0 ? (100 * amount) / limit : 100));
  const percent = share(used);
  const tone = isProgress ? 'used' : used > limit ? 'over' : percent >= near ? 'near' : 'used';
  const at = forecast === undefined ? undefined : share(forecast);
  return html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label=${label}>
    ${svg`<rect class=${tone} x="0" y="0" height="8" width=${percent}></rect>
    <rect class="reserved" x=${percent} y="0" height="8" width=${share(used + reserved) - percent}></rect>
    ${at === undefined ? nothing : svg`<line class="forecast" x1=${at} x2=${at} y1="0" y2="8" vector-effect="non-scaling-stroke"></line>`}`}
  </svg>`;
}
