/** Links to views of the page. */
import { html, type TemplateResult } from 'lit-html';
import { linkTo, linkToObject } from '../route.ts';

/** `key`: KIND/NAMESPACE/NAME. */
export function objectHref(key: string): string {
  const [kind = '', namespace = '', name = ''] = key.split('/');
  return linkToObject(kind, namespace, name);
}

export function objectLink(key: string, text = key): TemplateResult {
  return html`<a href=${objectHref(key)}>${text}</a>`;
}

export function fleetHref(namespace: string, name: string): string {
  return linkTo(['fleets', namespace, name]);
}

/** `KIND name`, without its namespace. */
export function shortName(key: string): string {
  const [kind = '', , name = ''] = key.split('/');
  return `${kind}/${name}`;
}
