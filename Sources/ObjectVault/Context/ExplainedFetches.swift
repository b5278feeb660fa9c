// The fetches of a closure that is explained.

/// The fetches whose plans are wanted, one for each text of a statement.
struct ExplainedFetches {
  private(set) var all: [(compiled: CompiledFetch, request: FetchParameters, entity: EntityMapping)] = []
  private var texts: Set<String> = []

  /// Returns these fetches, and those of another closure that are not among them.
  func joined(with other: ExplainedFetches?) -> ExplainedFetches {
    var all = self
    for fetch in other?.all ?? [] { all.note(fetch.compiled, of: fetch.request, on: fetch.entity) }
    return all
  }

  mutating func note(_ compiled: CompiledFetch, of request: FetchParameters, on entity: EntityMapping) {
    if texts.insert(compiled.text).inserted { all.append((compiled, request, entity)) }
  }
}
