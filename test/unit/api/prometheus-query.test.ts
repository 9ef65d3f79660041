import { describe, expect, test } from 'vitest';
import {
  createPrometheusQueries,
  numberIn,
  type HttpReply,
  type HttpRequest,
} from '../../../src/api/index.ts';
import { Sensitive } from '../../../src/base/index.ts';

const answer = (resultType: string, result: unknown) =>
  JSON.stringify({ status: 'success', data: { resultType, result } });

describe('the answer to a query', () => {
  test.each([
    [answer('scalar', [1, '0.25']), { number: 0.25 }],
    [answer('vector', [{ metric: {}, value: [1, '7'] }]), { number: 7 }],
    [answer('vector', [{ metric: {}, value: [1, '+Inf'] }]), { number: Infinity }],
    [answer('vector', []), { problem: 'the query gives 0 numbers, and not one' }],
    [
      answer('vector', [{ value: [1, '1'] }, { value: [1, '2'] }]),
      { problem: 'the query gives 2 numbers, and not one' },
    ],
    [answer('scalar', [1, 'NaN']), { problem: 'the query gives no number' }],
    [answer('scalar', [1, '']), { problem: 'the query gives no number' }],
    [answer('matrix', []), { problem: 'the query gives a matrix, and not one number' }],
    [
      '{"status": "error", "error": "a secret"}',
      { problem: 'the answer of Prometheus is not one to a query' },
    ],
    ['<html>', { problem: 'the answer of Prometheus is not one to a query' }],
  ])('%s is read', (body, expected) => {
    expect(numberIn(body)).toEqual(expected);
  });
});

describe('a query', () => {
  async function asked(reply: HttpReply, token?: string) {
    const requests: HttpRequest[] = [];
    const exchange = (request: HttpRequest) => {
      requests.push(request);
      return Promise.resolve(reply);
    };
    const address = {
      url: 'http://prometheus:9090/base/',
      token: () => (token === undefined ? undefined : new Sensitive(token)),
    };
    const queries = createPrometheusQueries(address, { exchange, close: () => Promise.resolve() });
    const result = await queries.ask('sum(rate(errors{a="b"}[5m]))', new AbortController().signal);
    return { result, requests };
  }
  const good: HttpReply = {
    kind: 'reply',
    status: 200,
    retryAfter: undefined,
    body: answer('scalar', [1, '1']),
  };

  test('is sent to the address of the process, with its token', async () => {
    const { result, requests } = await asked(good, 'token-1');
    expect(result).toEqual({ number: 1 });
    expect(requests).toMatchObject([
      {
        method: 'GET',
        url: 'http://prometheus:9090/base/api/v1/query?query=sum(rate(errors%7Ba%3D%22b%22%7D%5B5m%5D))',
        headers: { authorization: 'Bearer token-1' },
      },
    ]);
    expect((await asked(good)).requests[0]?.headers).not.toHaveProperty('authorization');
  });

  test('that is not answered, or refused, gives no number', async () => {
    expect((await asked({ kind: 'unknown', reason: 'no way to 10.0.0.7' })).result).toEqual({
      problem: 'there is no answer from Prometheus',
    });
    expect((await asked({ ...good, status: 401 })).result).toEqual({ problem: 'Prometheus answers 401' });
  });
});
