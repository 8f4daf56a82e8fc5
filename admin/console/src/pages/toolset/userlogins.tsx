import { infiniteQueryOptions, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Button } from "../../components/button";
import { More } from "../../components/more";
import { ProblemNote } from "../../components/problem";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { date } from "../../lib/format";

type Login = Schemas["UserLogin"];

const loginsQuery = (slug: string, connector: string) =>
  infiniteQueryOptions({
    queryKey: ["toolset", slug, "logins", connector],
    queryFn: ({ pageParam }) =>
      unwrap(api.GET("/v1/toolsets/{id}/authentication/users", { params: { path: { id: slug }, query: { connector, limit: 50, ...(pageParam ? { after: pageParam } : {}) } } })),
    initialPageParam: "",
    getNextPageParam: (page) => page.next,
  });

const states = { ok: "Logged in", login_required: "Login needed", failing: "Refused", expired: "Expired" } as const;

const columns: Column<Login>[] = [
  { name: "Who", cell: (l) => <span className="break-all">{l.name ?? l.subject}</span> },
  { name: "State", cell: (l) => states[l.state] },
  { name: "Last error", wide: true, cell: (l) => l.lastError ?? "" },
  { name: "Since", cell: (l) => <span className="whitespace-nowrap">{date(l.createdAt)}</span> },
];

const action = (slug: string): Column<Login> => ({ name: "Action", cell: (l) => <Forget slug={slug} login={l} /> });

/** The callers who logged in with accounts of their own. */
export function UserLogins({ slug, connector, editor }: { slug: string; connector: string; editor: boolean }) {
  const logins = useInfiniteQuery(loginsQuery(slug, connector));
  if (logins.isError) return <ProblemNote error={logins.error} retry={() => void logins.refetch()} />;
  const items = logins.data?.pages.flatMap((p) => p.items) ?? [];
  return (
    <div>
      <h3 className="mb-1 font-medium">Callers who logged in</h3>
      {items.length > 0 ? <Table label="Callers who logged in" columns={editor ? [...columns, action(slug)] : columns} rows={items} id={(l) => l.id} /> : null}
      {logins.isSuccess && items.length === 0 ? <p className="text-muted">Nobody yet.</p> : null}
      <More list={logins} />
    </div>
  );
}

function Forget({ slug, login }: { slug: string; login: Login }) {
  const queries = useQueryClient();
  const forget = useMutation({
    mutationFn: () => unwrap(api.DELETE("/v1/toolsets/{id}/authentication/users/{user}", { params: { path: { id: slug, user: login.id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug, "logins"] }),
  });
  return (
    <>
      <Button busy={forget.isPending} onClick={() => forget.mutate()} aria-label={`Forget the login of ${login.name ?? login.subject}`}>
        Forget
      </Button>
      {forget.isError ? <p role="alert" className="text-bad">{forget.error.message}</p> : null}
    </>
  );
}
