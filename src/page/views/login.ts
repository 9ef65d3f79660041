/** Who may not read: the form for a token, or why there is nothing to see. Pure. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { brand } from '../parts/marks.ts';

export interface LoginModel {
  readonly status: number;
  readonly wasRefused: boolean;
  readonly onToken: (token: string) => void;
}

export function loginView({ status, wasRefused, onToken }: LoginModel): TemplateResult {
  return html`<main class="login">
    <span class="brand">${brand}Fleetkeeper</span>
    ${
      status === 401
        ? html`<form class="panel body" @submit=${submit(onToken)}>
            <label class="stack"
              >Token<input name="token" type="password" required autocomplete="current-password" autofocus
            /></label>
            ${wasRefused ? html`<p role="alert">This token is not accepted.</p>` : nothing}
            <button type="submit">Show the fleet</button>
            <p class="muted small">Whoever runs the manager has it in the file of --page-token-file.</p>
          </form>`
        : html`<p role="alert">You may not read this fleet (${status}). Ask who runs it for access.</p>`
    }
  </main>`;
}

const submit = (onToken: LoginModel['onToken']) => (event: SubmitEvent) => {
  event.preventDefault();
  const token = new FormData(event.target as HTMLFormElement).get('token');
  if (typeof token === 'string') onToken(token);
};
