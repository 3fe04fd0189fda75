package web

// permission says whether requests that change something are obeyed.
func (a *api) permission() Permission { return a.Access.permission() }
