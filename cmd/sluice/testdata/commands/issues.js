const list = await tools.demo.list_repository_issues({owner: args.owner, repo: "anvil"});
return list.map(i => i.title);
