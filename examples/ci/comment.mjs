#!/usr/bin/env node
/**
 * Keeps one comment of a change up to date: node comment.mjs plan/plan.md
 *
 * GitHub: GITHUB_TOKEN, GITHUB_REPOSITORY, GITHUB_API_URL, PULL_REQUEST (a number).
 * GitLab: GITLAB_TOKEN (scope api), CI_API_V4_URL, CI_PROJECT_ID, CI_MERGE_REQUEST_IID.
 *
 * The first line of the file is a marker. The comment of the same author that begins with it is replaced.
 */
import { readFileSync } from 'node:fs';

const env = process.env;
const body = readFileSync(process.argv[2] ?? 'plan/plan.md', 'utf8').trimEnd();
const [marker] = body.split('\n', 1);
if (!/^<!-- fleetkeeper-plan:\S+ -->$/.test(marker)) {
  process.stderr.write('no marker of `fleetkeeper plan --output markdown` in the first line: nothing is posted\n');
  process.exit(1);
}

const onGitLab = Boolean(env.CI_MERGE_REQUEST_IID);
const base = onGitLab
  ? `${env.CI_API_V4_URL}/projects/${env.CI_PROJECT_ID}/merge_requests/${env.CI_MERGE_REQUEST_IID}/notes`
  : `${env.GITHUB_API_URL ?? 'https://api.github.com'}/repos/${env.GITHUB_REPOSITORY}/issues/${env.PULL_REQUEST}/comments`;
const headers = onGitLab
  ? { 'private-token': env.GITLAB_TOKEN }
  : { authorization: `Bearer ${env.GITHUB_TOKEN}`, accept: 'application/vnd.github+json' };

async function call(method, url, content) {
  const answer = await fetch(url, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    ...(content && { body: JSON.stringify(content) }),
    signal: AbortSignal.timeout(30_000),
  });
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${(await answer.text()).slice(0, 500)}`);
  return answer.json();
}

/** Of a bot, so that nobody else's comment is ever taken for this one. */
const isOurs = (comment) =>
  comment.body.startsWith(marker) && (onGitLab ? !comment.system : comment.user?.type === 'Bot');

async function findComment() {
  for (let page = 1; page <= 100; page += 1) {
    const comments = await call('GET', `${base}?per_page=100&page=${page}`);
    const found = comments.find(isOurs);
    if (found || comments.length < 100) return found;
  }
  return undefined;
}

const found = await findComment();
if (!found) await call('POST', base, { body });
else if (onGitLab) await call('PUT', `${base}/${found.id}`, { body });
else await call('PATCH', `${base.replace(/\/\d+\/comments$/, '/comments')}/${found.id}`, { body });
process.stdout.write(found ? 'the comment is up to date\n' : 'the comment is posted\n');
