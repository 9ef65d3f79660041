import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Json } from './api.ts';
import { expectRefused } from './expectations.ts';
import { activityAnswer, event } from './shapes.ts';
import { Workspace, once } from './workspace.ts';

const workspace = new Workspace();
const { api } = workspace;
const service = once(() => workspace.runningService());
const path = async (rest: string) => `/api/services/${(await service()).id}${rest}`;

async function post(body: object) {
  return api.call('POST', await path('/activity'), body);
}

async function list(): Promise<Json[]> {
  return (await api.get(await path('/activity'))).activities;
}

describe('an activity', () => {
  test('§2 Activity record: the answer has the id, heartbeatSeconds 30 and expiresInSeconds 300', async () => {
    const id = randomUUID();
    const answer = await post({ id, name: 'training' });
    expect(activityAnswer.parse(answer.body).id).toBe(id);
    await post({ id, name: 'training', release: true });
  });

  test('§4 GET /api/services/{id}/activity: {activities} has what is registered and not released', async () => {
    const id = randomUUID();
    await post({ id, name: 'training', release: false });
    expect(JSON.stringify(await list())).toContain(id);
    await post({ id, name: 'training', release: true });
  });

  test('§4 rule 6: a heartbeat with the same id makes no second activity', async () => {
    const id = randomUUID();
    await post({ id, name: 'training' });
    const before = (await list()).length;
    const heartbeat = await post({ id, name: 'training' });
    expect(activityAnswer.parse(heartbeat.body).id).toBe(id);
    expect((await list()).length).toBe(before);
    await post({ id, name: 'training', release: true });
  });

  test('§4 rule 6: an activity is released with the same id', async () => {
    const id = randomUUID();
    await post({ id, name: 'training' });
    const answer = await post({ id, name: 'training', release: true });
    expect(activityAnswer.parse(answer.body).id).toBe(id);
  });

  test.each([0, 128])('§8: the name of an activity may have %i characters', async (length) => {
    const id = randomUUID();
    const name = 'x'.repeat(length);
    expect(activityAnswer.parse((await post({ id, name })).body).id).toBe(id);
    await post({ id, name, release: true });
  });

  test.each([
    ['a name of 129 characters', { name: 'x'.repeat(129) }],
    ['a name that is a number', { name: 5 }],
    ['no name', { name: undefined }],
    ['an id that is no UUID', { id: 'training' }],
    ['no id', { id: undefined }],
    ['a release that is a text', { release: 'no' }],
  ])('§2 Activity record: %s is refused', async (_, fields) => {
    expectRefused(await post({ id: randomUUID(), name: 'training', ...fields }));
  });
});

describe('the events of a service', () => {
  const events = async (): Promise<Json[]> => (await api.get(await path('/events'))).events;

  test('§6 rule 1: a read of events answers {events}, at most 100', async () => {
    expect((await events()).length).toBeLessThanOrEqual(100);
  });

  test('§6 rule 1: events have a message, and created_at in Unix milliseconds', async () => {
    const known = z.array(event).parse(await events());
    const hourMs = 3_600_000;
    const nowMs = Date.now();
    expect(known.filter(({ created_at }) => Math.abs(created_at - nowMs) > 24 * hourMs)).toEqual([]);
  });

  test('§6 rule 1: events come newest first', async () => {
    const times = (await events()).map(({ created_at }) => created_at);
    expect(times).toEqual(times.toSorted((left, right) => right - left));
  });
});
