import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { buttonClass } from "../components/button";
import { ProblemNote } from "../components/problem";
import { SIGNED_OUT } from "../lib/api";
import { follow } from "../lib/live";
import { sessionQuery, takeLoginLink, type Session } from "../lib/session";
import { Connection } from "./connection";
import { Navigation } from "./navigation";
import { LinkSignIn, SignIn, SignInAgain } from "./signin";

// Read once, before anything else sees the address.
const loginLink = takeLoginLink();

/** What is around every page, and whether the node answers. */
export const Shell = () => (
  <>
    <Inside />
    <Connection />
  </>
);

/** Navigation and the page, or the sign-in page where nobody is signed in. */
function Inside() {
  const queries = useQueryClient();
  const [link, setLink] = useState(loginLink);
  // While a link signs in, an answer of the time before would overwrite the new session.
  const session = useQuery({ ...sessionQuery, enabled: !link });
  const [expired, setExpired] = useState(false);

  useEffect(() => {
    const end = () => setExpired(true);
    const opened = () => setLink((before) => takeLoginLink() || before);
    addEventListener(SIGNED_OUT, end);
    addEventListener("hashchange", opened); // A login link that is opened in a tab with the console.
    return () => {
      removeEventListener(SIGNED_OUT, end);
      removeEventListener("hashchange", opened);
    };
  }, []);

  const signedIn = Boolean(session.data) && !expired;
  useEffect(() => (signedIn ? follow(queries) : undefined), [queries, signedIn]);

  if (link) return <LinkSignIn key={link} link={link} done={() => setLink("")} />;
  if (session.isPending) return <p role="status" className="sr-only">Loading</p>;
  if (session.isError) {
    return (
      <main className="mx-auto max-w-xl p-6">
        <ProblemNote error={session.error} retry={() => void session.refetch()} />
      </main>
    );
  }
  if (!session.data) return <SignIn />;

  return (
    <div className="min-h-dvh md:grid md:grid-cols-[13.5rem_minmax(0,1fr)]">
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-10 focus:bg-surface focus:p-2">
        Skip to the content
      </a>
      <Navigation session={session.data} />
      <main id="content" tabIndex={-1} className="mx-auto w-full max-w-6xl min-w-0 px-4 py-6 sm:px-8">
        <PasswordWanted session={session.data} />
        <Outlet />
      </main>
      <SignInAgain
        open={expired}
        session={session.data}
        close={() => setExpired(false)}
        done={() => {
          setExpired(false);
          void queries.invalidateQueries();
        }}
      />
    </div>
  );
}

/** A member whose session was opened by a link cannot come back without a password, and is told so until there is one. */
function PasswordWanted({ session }: { session: Session }) {
  const path = useRouterState({ select: (s) => s.location.pathname });
  if (!session.member || session.password !== "settable" || path === "/settings") return null;
  return (
    <p className="mb-5 flex flex-wrap items-center justify-between gap-3 rounded-lg border border-line bg-surface p-3">
      Your login link is used up: set a password, to sign in again later.
      <Link to="/settings" className={buttonClass()}>
        Set a password
      </Link>
    </p>
  );
}
