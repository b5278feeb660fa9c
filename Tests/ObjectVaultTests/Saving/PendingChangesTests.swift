// The pending changes of a context, as a consistent value.

import CipherSQLite
import ObjectVault
import TestSupport
import Testing

/// Throws if the pending changes of a context are inconsistent, with themselves or with its objects.
func checkPending(_ context: ObjectContext) throws {
  let violations = context.pending.violations(among: context.maps.objects)
  if !violations.isEmpty { throw Mismatch("pending changes: \(violations.joined(separator: "; "))") }
}

@Suite struct PendingValues {
  let temporary: TemporaryStore
  let context: ObjectContext

  init() async throws {
    temporary = try await TemporaryStore(library)
    context = temporary.store.makeContext()
  }

  @Test func `a copy of the pending changes does not change`() throws {
    let author = context.insert(Author.self) { $0.name = "Ann" }
    let before = context.pending
    context.insert(Book.self) {
      $0.title = "One"
      $0.author = author
    }
    context.delete(author)
    #expect(before.inserted == [author] && before.touched.isEmpty)
    #expect(context.pending.inserted.count == 2)
  }

  @Test func `the check finds a change that was not recorded as pending`() throws {
    let author = context.insert(Author.self) { $0.name = "Ann" }
    try context.save()
    try checkPending(context)
    author.overlay = Overlay(slotCount: author.entity?.slots.count ?? 0)
    #expect(throws: Mismatch.self) { try checkPending(context) }
    author.overlay = nil
    author.state = .deleted
    #expect(throws: Mismatch.self) { try checkPending(context) }
    author.state = .inserted
    #expect(throws: Mismatch.self) { try checkPending(context) }
    author.state = .loaded
    author.isRegistered = true
    #expect(throws: Mismatch.self) { try checkPending(context) }
    author.isRegistered = false
    try checkPending(context)
  }

  @Test func `a failed save leaves the pending changes and the objects as they were`() throws {
    let author = context.insert(Author.self) { $0.name = "Ann" }
    let book = context.insert(Book.self) {
      $0.title = "One"
      $0.author = author
    }
    try context.save()
    context.delete(author)
    context.insert(Book.self)
    let (inserted, deleted) = (context.pending.inserted, context.pending.deleted)
    #expect(throws: StoreError.self) { try context.save() }
    #expect(context.pending.inserted == inserted && context.pending.deleted == deleted)
    #expect(context.pending.updated.isEmpty && book.state == .loaded && book.overlay == nil)
    try checkPending(context)
  }
}
