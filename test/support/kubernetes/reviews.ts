/** Questions that are answered and not stored: may I, may they, whose token is this, and a token for a service account. */
import type { Access, User } from './access.ts';
import { fieldsOf, listOf, textOf } from './objects.ts';
import type { ResourceRequest } from './paths.ts';

const reviews: ReadonlySet<string> = new Set([
  'selfsubjectaccessreviews.authorization.k8s.io',
  'subjectaccessreviews.authorization.k8s.io',
  'tokenreviews.authentication.k8s.io',
]);

export function isReview({ verb, group, plural }: ResourceRequest): boolean {
  return verb === 'create' && reviews.has(`${plural}.${group}`);
}

/** `may I`, as `kubectl auth can-i` asks it; `may they`; `whose token is this`. */
export function answerReview(access: Access, user: User, { plural }: ResourceRequest, body: unknown): object {
  const review = fieldsOf(body);
  const spec = fieldsOf(review['spec']);
  if (plural === 'tokenreviews') return { ...review, status: tokenStatus(access, textOf(spec['token'])) };
  const subject = plural === 'subjectaccessreviews' ? subjectOf(spec) : user;
  return { ...review, status: { allowed: allowedBy(access, subject, spec) } };
}

function tokenStatus(access: Access, token: string): object {
  const user = access.userOf(token);
  if (!user) return { error: 'token is not known' };
  const { name: username, groups } = user;
  return { authenticated: true, user: { username, groups } };
}

function subjectOf(spec: Readonly<Record<string, unknown>>): User {
  return { name: textOf(spec['user']), groups: listOf(spec['groups']).map(textOf) };
}

function allowedBy(access: Access, subject: User, spec: Readonly<Record<string, unknown>>): boolean {
  const asked = fieldsOf(spec['resourceAttributes']);
  const text = (field: string) => textOf(asked[field]);
  const subresource = text('subresource');
  return access.allows(subject, {
    verb: text('verb'),
    group: text('group'),
    resource: subresource ? `${text('resource')}/${subresource}` : text('resource'),
    namespace: text('namespace') || undefined,
    name: text('name') || undefined,
  });
}

const secondsOfToken = 3600;

/** `authentication.k8s.io/v1 TokenRequest`, as `kubectl create token` asks it. */
export function answerTokenRequest(access: Access, namespace: string, name: string, body: unknown): object {
  const expirationTimestamp = new Date(Date.now() + secondsOfToken * 1000).toISOString();
  return { ...fieldsOf(body), status: { token: access.tokenOf(namespace, name), expirationTimestamp } };
}
