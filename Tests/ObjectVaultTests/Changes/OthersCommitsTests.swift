// Commits of other processes, and of other stores on the file: none is missed, and they arrive before the
// store's own next commit.

import CipherSQLite
import Foundation
import Microblog
import ObjectVault
import TestSupport
import Testing

@Suite struct OthersCommits {
  private static func add(_ name: String, to store: Store) async throws {
    try await store.write { context in _ = context.insert(Author.self) { $0.name = name } }
  }

  @Test func `a commit of another store on the file is told without a call`() async throws {
    let temporary = try await TemporaryStore(library)
    let other = try await temporary.again()
    var iterator = temporary.store.changes().makeAsyncIterator()
    for number in 0..<20 {
      try await Self.add("\(number)", to: other)
      #expect(await iterator.next() == .changedElsewhere)
      let count = try await temporary.store.read { try $0.fetch(Author.self).count() }
      #expect(count == number + 1)
    }
    other.close()
  }

  @Test func `a commit of another store arrives before the store's own next one`() async throws {
    let temporary = try await TemporaryStore(library)
    let other = try await temporary.again()
    let changes = temporary.store.changes()
    for round in 0..<20 {
      try await Self.add("other \(round)", to: other)
      try await Self.add("own \(round)", to: temporary.store)
      var found: [String] = []
      for change in changes.takeUndelivered() {
        if case .committed(let set) = change {
          found += set.inserted.compactMap { $0.values["name"]?.string }
        } else {
          #expect(change == .changedElsewhere)
          found.append("?")
        }
      }
      #expect(found == ["?", "own \(round)"])
    }
    other.close()
  }

  @Test func `own commits alone are never taken for those of others`() async throws {
    let temporary = try await TemporaryStore(library)
    let changes = temporary.store.changes()
    for round in 0..<30 {
      try await Self.add("\(round)", to: temporary.store)
      _ = try await temporary.store.read { try $0.fetch(Author.self).count() }
      try await Task.sleep(for: .milliseconds(3))
    }
    try await temporary.store.vacuum()
    try await Self.add("last", to: temporary.store)
    let kinds = changes.takeUndelivered().map { change in if case .committed = change { 1 } else { 0 } }
    #expect(kinds == [Int](repeating: 1, count: 31))
  }

  @Test func `commits of others before the first listener are not told`() async throws {
    let temporary = try await TemporaryStore(library)
    let other = try await temporary.again()
    let first = temporary.store.changes()
    try await Self.add("a", to: temporary.store)
    guard case .committed? = first.takeUndelivered().first else {
      Issue.record("the first element is not the store's own commit")
      return
    }
    other.close()
  }

  @Test func `several commits of others in a full queue are one element`() async throws {
    let temporary = try await TemporaryStore(library)
    let other = try await temporary.again()
    let changes = temporary.store.changes(bufferingUpTo: 1)
    try await Self.add("a", to: temporary.store)
    try await Self.add("b", to: other)
    try await Self.add("c", to: temporary.store)
    #expect(changes.takeUndelivered() == [.missed(commits: 2)])
    for name in ["d", "e"] { try await Self.add(name, to: other) }
    var iterator = changes.makeAsyncIterator()
    #expect(await iterator.next() == .changedElsewhere)
    other.close()
  }

  @Test func `the sequence ends with the store, also while it looks for commits`() async throws {
    for round in 0..<20 {
      let changes: StoreChanges
      do {
        let temporary = try await TemporaryStore(library)
        changes = temporary.store.changes()
        if round % 2 == 0 { try await Task.sleep(for: .milliseconds(round)) }
      }
      for await _ in changes {}
    }
  }
}

@Suite(.tags(.processes)) struct CommitsOfProcesses {
  @Test func `no commit of a process is missed that is stopped and killed`() async throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("test.store")
    let store = try await openMicroblog(url)
    let changes = store.changes()
    let seen = Locked(0)
    let follower = Task {
      for await _ in changes {
        let count = try await store.read { try $0.fetch(User.self).count() }
        seen.withLock { $0 = count }
      }
    }
    for _ in 0..<(isTorture ? 40 : 4) {
      let child = try SteppedChild("save", url.path)
      for line in 0..<60 {
        #expect(try child.line() == "saved")
        if line % 15 == 7 {
          child.setRunning(false)
          try await Task.sleep(for: .milliseconds(.random(in: 1...30)))
          child.setRunning(true)
        }
      }
      child.killNow()
    }
    let total = try await store.read { try $0.fetch(User.self).count() }
    // The follower reads after each element: it has the last count only if the last commit was told.
    while seen.withLock({ $0 }) != total { try await Task.sleep(for: .milliseconds(5)) }
    store.close()
    try await follower.value
  }
}
