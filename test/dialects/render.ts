/** Puts an answer into a dialect: a pure function of the answer and of what was asked. */
import type { Asked, Dialect, Form, RecordKind, Where } from './dialect.ts';
import type { Json } from './provider/conduct.ts';

export interface Rendered {
  readonly status: number;
  /** Undefined: no body. */
  readonly body: Json;
}

/** `body` is not changed. */
export function rendered(dialect: Dialect, asked: Asked, status: number, body: Json): Rendered {
  const { forms, status: statusOf } = dialect;
  const shown = { status: statusOf ? statusOf(status, asked) : status, body };
  if (!forms || body === null || typeof body !== 'object') return shown;
  if (status >= 400) return { ...shown, body: put(forms.refusal, structuredClone(body), 'answer') };
  return { ...shown, body: answered(forms, asked, structuredClone(body)) };
}

type Forms = Partial<Record<RecordKind, Form>>;

/** How each answer is made of records (§4). */
function answered(forms: Forms, { method, path }: Asked, body: Json): Json {
  const [, , kind = '', id, part] = path.split('/');
  const isRead = method === 'GET';
  const list = (key: string, form: Form | undefined) => ({ ...body, [key]: listed(body[key], form) });
  switch (kind) {
    case 'account':
      return put(forms.account, accountIn(forms, body), 'read');
    case 'me':
      return put(forms.identity, body, 'read');
    case 'catalog':
      return put(forms.catalog, list('regions', forms.region), 'read');
    case 'services':
      if (part === 'activity')
        return isRead ? list('activities', forms.activity) : put(forms.activityAnswer, body, 'answer');
      if (part === 'events') return list('events', forms.event);
      if (isRead)
        return part === undefined ? { ...body, service: put(forms.service, body.service, 'read') } : body;
      return part === undefined || part === 'actions' || part === 'sleep'
        ? put(forms.service, body, 'answer')
        : body;
    case 'volumes':
      if (method === 'DELETE') return put(forms.volumeDeletion, body, 'answer');
      if (!isRead) return put(forms.volume, body, 'answer');
      return id === undefined
        ? list('volumes', forms.volume)
        : { ...body, volume: put(forms.volume, body.volume, 'read') };
    case 'templates':
    case 'registries':
      if (isRead) return list(kind, kind === 'templates' ? forms.template : forms.registry);
      if (method === 'DELETE') return put(forms.deletion, body, 'answer');
      return put(kind === 'templates' ? forms.template : forms.registry, body, 'answer');
    default:
      return body;
  }
}

function accountIn(forms: Forms, body: Json): Json {
  return {
    ...body,
    services: listed(body.services, forms.service),
    volumes: listed(body.volumes, forms.volume),
    ledger: listed(body.ledger, forms.ledgerEntry),
  };
}

function listed(items: Json, form: Form | undefined): Json {
  return form && Array.isArray(items) ? items.map((item) => form(item, 'list')) : items;
}

function put(form: Form | undefined, record: Json, where: Where): Json {
  return form && record !== undefined ? form(record, where) : record;
}
