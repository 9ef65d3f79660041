/**
 * Draws a picture. What was drawn before must not stay where the new one can't be drawn, because of a defect or of data that nobody expected:
 * it would be taken for what is true now.
 */
import { html, render, type TemplateResult } from 'lit-html';

/** The first of the pictures that can be drawn. `onDefect` is called for each that can't. */
export function drawFirst(
  page: HTMLElement,
  pictures: readonly (() => unknown)[],
  onDefect: (error: unknown) => void,
): void {
  for (const picture of pictures) {
    try {
      render(picture(), page);
      return;
    } catch (error) {
      onDefect(error);
    }
  }
}

/** In the place of what can't be drawn. */
export function brokenView(): TemplateResult {
  return html`<section class="panel">
    <div class="empty" role="alert">
      <strong>This can not be shown</strong>
      The page has a defect. The command line shows the same, and other views may work.
      <a href="#/">To the start</a>
    </div>
  </section>`;
}
