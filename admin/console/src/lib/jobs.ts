import { api, unwrap, type Schemas } from "./api";
import { jobChanged } from "./live";
import { problemOf } from "./problem";

const EVERY = 700;

/** Waits for what an answer promises: long work is answered with a job, whose result comes later. */
export async function finish<T>(call: Promise<{ data?: unknown; error?: unknown; response: Response }>, onPhase?: (phase: string) => void): Promise<T> {
  const answer = await call;
  const data = await unwrap(Promise.resolve(answer));
  if (answer.response.status !== 202) return data as T;
  const { id } = data as Schemas["Job"];
  for (;;) {
    const job = await unwrap(api.GET("/v1/jobs/{id}", { params: { path: { id } } }));
    if (job.state === "succeeded") return job.result as T;
    if (job.state === "failed") throw problemOf(job.error, new Response(null, { status: job.error?.status ?? 500 }));
    onPhase?.(job.phase ?? "");
    await jobChanged(EVERY);
  }
}
