/** Who may not read: the form for a token, or why there is nothing to see. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import type { Refusal } from '../connection.ts';
import { brand } from '../parts/marks.ts';
import { withCode } from '../parts/texts.ts';

export interface LoginModel extends Refusal {
  /** Of the token that was entered last: the status of the answer, 0 without one. */
  readonly failure: number | undefined;
  readonly onToken: (token: string) => void;
}

/** Where a token comes from, by its kind. */
const sources: Readonly<Record<string, string>> = {
  'token-file': 'Whoever runs the manager has it in the file of --page-token-file.',
  kubernetes:
    'A token of the cluster, as of `kubectl create token NAME`: you see the namespaces in which it may list every kind.',
  oidc: 'Who comes by the proxy that signs people in needs none.',
};

export function loginView(model: LoginModel): TemplateResult {
  return html`<main class="login"><span class="brand">${brand}Fleetkeeper</span> ${content(model)}</main>`;
}

function content({ status, access = ['token-file'], failure, onToken }: LoginModel): TemplateResult {
  if (status !== 401)
    return html`<p role="alert">You may not read this fleet (${status}). Ask who runs it for access.</p>`;
  if (access.every((kind) => kind === 'oidc'))
    return html`<p role="alert">
      You are not signed in. Open this page by the proxy that signs people in: it sends who you are. Ask who
      runs the page for its address.
    </p>`;
  return html`<form class="panel body" @submit=${submit(onToken)}>
    <label class="stack"
      >Token<input name="token" type="password" required autocomplete="current-password" autofocus
    /></label>
    ${failure === undefined ? nothing : html`<p role="alert">${failureText(failure)}</p>`}
    <button type="submit">Show the fleet</button>
    ${access.flatMap((kind) => sources[kind] ?? []).map((text) => html`<p class="muted small">${withCode(text)}</p>`)}
  </form>`;
}

function failureText(status: number): string {
  if (status === 401) return 'This token is not accepted.';
  if (status === 413) return 'This is too long to be a token.';
  if (status === 0) return 'The server does not answer. Try again.';
  return `The token could not be checked (${status}). Try again.`;
}

const submit = (onToken: LoginModel['onToken']) => (event: SubmitEvent) => {
  event.preventDefault();
  const token = new FormData(event.target as HTMLFormElement).get('token');
  if (typeof token === 'string') onToken(token);
};
