// Compares a module's sources with the table of its folders. Pure: sources and table are parameters, so that
// the rules can be tested with invented ones.

/// The table of a module's folders, as its page `architecture.md` writes it: `| folder | holds | may use |`.
struct FolderTable: Equatable {
  /// The folders that each folder may use.
  var allowed: [String: Set<String>] = [:]

  init(allowed: [String: Set<String>]) { self.allowed = allowed }

  /// Reads the first table with these three columns.
  init(page: String) {
    let lines = page.split(separator: "\n", omittingEmptySubsequences: false).map(Self.cells)
    guard let head = lines.firstIndex(of: ["folder", "holds", "may use"]) else { return }
    for cells in lines.dropFirst(head + 2) {
      guard cells.count == 3, let folder = Self.names(cells[0]).first else { return }
      allowed[folder] = Set(Self.names(cells[2]))
    }
  }

  private static func cells(_ line: Substring) -> [String] {
    guard line.hasPrefix("|") else { return [] }
    return line.split(separator: "|").map { String($0.drop { $0 == " " }) }
      .map { String($0.reversed().drop { $0 == " " }.reversed()) }
  }

  /// The texts between backticks.
  private static func names(_ cell: String) -> [String] {
    cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
      .filter { $0.offset % 2 == 1 }.map { String($0.element) }
  }
}

/// The sources of one module, and its table.
struct House {
  let sources: [SwiftSource]
  let table: FolderTable
  /// The size of the largest allowed group of files that all use each other, directly or indirectly.
  static let largestKnot = 4

  private let owners: [String: [SwiftSource]]

  init(_ sources: [SwiftSource], _ table: FolderTable) {
    self.sources = sources
    self.table = table
    var owners: [String: [SwiftSource]] = [:]
    for source in sources { for name in source.declared { owners[name, default: []].append(source) } }
    self.owners = owners
  }

  // MARK: Rules

  /// Folders without a line, lines without a folder, files in no folder.
  var missing: [String] {
    let folders = Set(sources.compactMap(\.folder))
    let known = Set(table.allowed.keys)
    return sources.filter { $0.folder == nil }.map { "\($0.path) lies in no folder" }.sorted()
      + folders.subtracting(known).sorted().map { "the table has no line for the folder \($0)" }
      + known.subtracting(folders).sorted().map {
        "the table has a line for \($0), and there is no such folder"
      }
      + table.allowed.sorted { $0.key < $1.key }.flatMap { folder, uses in
        uses.subtracting(known).sorted().map { "\(folder) may use \($0), which has no line" }
      }
  }

  /// Uses of names from folders that the table does not allow.
  var violations: [String] {
    sources.flatMap { source -> [String] in
      guard let folder = source.folder else { return [] }
      let allowed = (table.allowed[folder] ?? []).union([folder])
      return source.used.sorted().compactMap { name in
        let owners = (owners[name] ?? []).filter { $0.folder != nil }
        // If several files declare a name, it is not certain here which one is meant.
        guard let first = owners.first, !owners.contains(where: { allowed.contains($0.folder ?? "") }) else {
          return nil
        }
        return
          "\(source.path) uses \(name) of \(first.path): \(folder) may not use \(first.folder ?? "")"
      }
    }
  }

  /// Groups of folders that may all use each other by the table.
  var circles: [String] {
    Self.groups(table.allowed).filter { $0.count > 1 }.map {
      "the table lets these folders use each other in a circle: \($0.sorted().joined(separator: ", "))"
    }
  }

  /// Groups of files that cannot be read one after another, and are too large to keep in mind.
  var knots: [String] {
    var uses: [String: Set<String>] = [:]
    for source in sources {
      uses[source.path] = Set(
        source.used.compactMap { name in
          guard let owners = owners[name], owners.count == 1, owners[0].path != source.path else {
            return nil
          }
          return owners[0].path
        })
    }
    return Self.groups(uses).filter { $0.count > Self.largestKnot }.map {
      "\($0.count) files use each other, and \(Self.largestKnot) may: \($0.sorted().joined(separator: ", "))"
    }
  }

  // MARK: Graphs

  /// The strongly connected components of a graph (Tarjan 1972), each once.
  static func groups(_ uses: [String: Set<String>]) -> [[String]] {
    var search = Search(uses: uses)
    for node in uses.keys.sorted() where search.index[node] == nil { search.visit(node) }
    return search.found
  }

  private struct Search {
    let uses: [String: Set<String>]
    var index: [String: Int] = [:]
    var lowest: [String: Int] = [:]
    var stack: [String] = []
    var found: [[String]] = []

    mutating func visit(_ node: String) {
      let number = index.count
      (index[node], lowest[node]) = (number, number)
      stack.append(node)
      for other in (uses[node] ?? []).sorted() {
        if index[other] == nil {
          visit(other)
          lowest[node] = min(lowest[node] ?? number, lowest[other] ?? number)
        } else if stack.contains(other) {
          lowest[node] = min(lowest[node] ?? number, index[other] ?? number)
        }
      }
      guard lowest[node] == number, let start = stack.firstIndex(of: node) else { return }
      found.append(Array(stack[start...]))
      stack.removeSubrange(start...)
    }
  }
}
