/** Links to views of the page. */
import { html, type TemplateResult } from 'lit-html';
import { linkTo, linkToObject } from '../route.ts';

/** `key`: KIND/NAMESPACE/NAME. What has replicas has a view of its own for them. */
export function objectHref(key: string, hasReplicas = false): string {
  const [kind = '', namespace = '', name = ''] = key.split('/');
  return hasReplicas ? fleetHref(namespace, name) : linkToObject(kind, namespace, name);
}

/** An address elsewhere: a link with its host if it is https, else text. */
export function foreignLink(address: string): TemplateResult {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  return url?.protocol === 'https:'
    ? html`<a href=${url.href} target="_blank" rel="noopener noreferrer">${address}</a>`
    : html`<span>${address}</span>`;
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
