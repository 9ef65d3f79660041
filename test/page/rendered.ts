/** Views as text: what a screen reader would find, line by line. */
import { emptyElement } from './dom.ts';
import { render } from 'lit-html';

/** The element with the view in it. */
export function rendered(view: unknown): HTMLElement {
  const element = emptyElement();
  render(view, element);
  return element;
}

/** All text, with single blanks. */
export function textOf(view: unknown): string {
  return oneLine(rendered(view).textContent ?? '');
}

export function textsOf(view: unknown, selector: string): string[] {
  return Array.from(rendered(view).querySelectorAll(selector), (found) => oneLine(found.textContent ?? ''));
}

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim();
