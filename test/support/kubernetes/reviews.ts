/** Questions that are answered and not stored: may I, and a token for a service account. */
import type { Access, User } from './access.ts';
import { fieldsOf, textOf } from './objects.ts';

/** `authorization.k8s.io/v1 SelfSubjectAccessReview`, as `kubectl auth can-i` asks it. */
export function answerReview(access: Access, user: User, body: unknown): object {
  const review = fieldsOf(body);
  const asked = fieldsOf(fieldsOf(review['spec'])['resourceAttributes']);
  const text = (field: string) => textOf(asked[field]);
  const subresource = text('subresource');
  const allowed = access.allows(user, {
    verb: text('verb'),
    group: text('group'),
    resource: subresource ? `${text('resource')}/${subresource}` : text('resource'),
    namespace: text('namespace') || undefined,
    name: text('name') || undefined,
  });
  return { ...review, status: { allowed } };
}

const secondsOfToken = 3600;

/** `authentication.k8s.io/v1 TokenRequest`, as `kubectl create token` asks it. */
export function answerTokenRequest(access: Access, namespace: string, name: string, body: unknown): object {
  const expirationTimestamp = new Date(Date.now() + secondsOfToken * 1000).toISOString();
  return { ...fieldsOf(body), status: { token: access.tokenOf(namespace, name), expirationTimestamp } };
}
