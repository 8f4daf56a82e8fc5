import { Button } from "./button";

interface Paged {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
}

/** The way to the next page of a list, below its rows. */
export function More({ list }: { list: Paged }) {
  if (!list.hasNextPage) return null;
  return (
    <div className="border-t border-line p-3">
      <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        Load more
      </Button>
    </div>
  );
}
