/** What can't be drawn: what was drawn before is not there any more, and what follows is. */
import { expect, test } from 'vitest';
import { emptyElement } from './dom.ts';
import { html } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { brokenView, drawFirst } from '../../src/page/drawing.ts';

const thrown = new Error('nobody expected that');
const fails = () => {
  throw thrown;
};

function createPage() {
  const page = emptyElement();
  const defects: unknown[] = [];
  const frame = (view: unknown) =>
    html`<nav>Live</nav>
      <main>${view}</main>`;
  const draw = (view: () => unknown) =>
    drawFirst(page, [() => frame(view()), () => frame(brokenView()), brokenView], (error) =>
      defects.push(error),
    );
  const text = () => (page.textContent ?? '').replaceAll(/\s+/g, ' ').trim();
  return { page, defects, draw, text };
}

const list = (count: number, row: (index: number) => unknown = (index) => html`<li>${index}</li>`) =>
  html`<ul>
    ${repeat(
      Array.from({ length: count }, (_, index) => index),
      (index) => index,
      row,
    )}
  </ul>`;

test.each([
  ['before anything of it is drawn', fails],
  ['in the midst of it', () => list(3, (index) => (index === 2 ? fails() : html`<li>${index}</li>`))],
])('a view that fails %s is replaced by a message, until it can be drawn', (_when, broken) => {
  const { draw, text, defects } = createPage();
  draw(() => list(3));
  expect(text()).toBe('Live 012');
  for (let count = 0; count < 2; count += 1) {
    draw(broken);
    expect(text()).toMatch(/^Live This can not be shown/);
    expect(text()).not.toMatch(/\d/);
  }
  expect(defects).toEqual([thrown, thrown]);
  draw(() => list(4));
  expect(text()).toBe('Live 0123');
});

test('where nothing around it can be drawn either, there is the message alone', () => {
  const page = emptyElement();
  drawFirst(page, [() => html`Live`], fails);
  drawFirst(page, [fails, fails, brokenView], () => undefined);
  expect(page.textContent).toContain('This can not be shown');
  expect(page.textContent).not.toContain('Live');
  expect(page.querySelector('[role=alert]')).not.toBeNull();
});
