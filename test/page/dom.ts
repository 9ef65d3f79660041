/** A document to render into, as a browser has it. Import it before anything of the page: lit-html takes the document when it is loaded. */
import { Window } from 'happy-dom';

const window = new Window({ url: 'http://localhost/' });
Object.assign(globalThis, { document: window.document, litIssuedWarnings: new Set(['dev-mode']) });

export function emptyElement(): HTMLElement {
  return window.document.createElement('div') as unknown as HTMLElement;
}
