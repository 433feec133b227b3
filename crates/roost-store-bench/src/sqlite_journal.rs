//! Owns a journal on `SQLite`: one table from revision to record, one transaction per batch, a write-ahead log that is synced
//! with every commit. It does the least that a journal must, and never compacts, which favours it.

use std::path::Path;

use roost_store::journal::{Batch, Completion, Journal, Record, Replay, Snapshot, SyncWork};
use roost_store::{OpenError, Revision, StorageError};
use rusqlite::Connection;

use crate::record::{decode, encode};

pub(crate) struct SqliteJournal {
    connection: Connection,
}

impl SqliteJournal {
    pub(crate) fn open(directory: &Path) -> Result<Self, rusqlite::Error> {
        let connection = Connection::open(directory.join("log.sqlite"))?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection
            .execute("create table if not exists log (revision integer primary key, record blob not null)", ())?;
        Ok(Self { connection })
    }

    fn read(&self, replay: &mut Replay<'_>) -> Result<(), Box<dyn std::error::Error>> {
        let mut statement = self.connection.prepare("select revision, record from log order by revision")?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            let record = decode(row.get_ref(1)?.as_blob()?).ok_or("a record makes no sense")?;
            replay.record(u64::try_from(row.get::<_, i64>(0)?)?, record, u64::MAX)?;
        }
        Ok(())
    }

    fn write(&mut self, batch: Batch<'_>) -> Result<(), rusqlite::Error> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached("insert into log values (?, ?)")?;
            let mut bytes = Vec::new();
            for event in batch.events {
                encode(Record::from(&**event), &mut bytes);
                insert.execute((event.revision as i64, &bytes))?;
            }
        }
        transaction.commit()
    }
}

impl Journal for SqliteJournal {
    fn load(&mut self, replay: &mut Replay<'_>) -> Result<(), OpenError> {
        self.read(replay).map_err(|error| OpenError::Remote(error.to_string()))
    }

    fn append(&mut self, batch: Batch<'_>) -> Result<Option<SyncWork>, StorageError> {
        self.write(batch).map(|()| None).map_err(|error| StorageError::new(error.to_string()))
    }

    fn worth_compacting(&self, _mark: Revision) -> bool {
        false
    }

    fn compact(&mut self, _snapshot: Snapshot, done: Completion) {
        done(Ok(()));
    }

    fn stored_bytes(&self) -> u64 {
        0
    }

    fn close(&mut self) {}
}
