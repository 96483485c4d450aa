//! One connection that speaks HTTP/1.1, driven by the task that uses it.

use super::answer::Answer;
use super::framing::{Broken, Decoder, HEAD_BYTES_MAX};
use super::message::Message;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Opens connections.
pub(super) trait Connect: Clone + 'static {
    /// What they run on.
    type Stream: AsyncRead + AsyncWrite + Unpin + 'static;

    /// Opens a connection.
    fn connect(&self) -> impl Future<Output = io::Result<Connection<Self::Stream>>>;
}

/// How much is read at once. Only a longer head makes the buffer grow, up to [`HEAD_BYTES_MAX`].
const READ_BYTES: usize = 16 << 10;

/// A connection that is kept alive, and speaks HTTP/1.1.
pub(super) struct Connection<S> {
    stream: S,
    /// What was read; `start..end` of it is not used yet.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    decoder: Decoder,
    open: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Speaks HTTP on a stream.
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            buffer: vec![0; READ_BYTES],
            start: 0,
            end: 0,
            decoder: Decoder::new(),
            open: true,
        }
    }

    /// Sends what is left of a message, and leaves `None` of it once nothing is.
    fn poll_send(
        &mut self,
        left: &mut Option<Message<'_>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while let Some(message) = left
            && !message.is_empty()
        {
            let stream = Pin::new(&mut self.stream);
            let written = match message {
                Message { front: [], rest } => stream.poll_write(context, rest),
                // writev(2) takes longer for a single part.
                Message { front, rest: [] } => stream.poll_write(context, front),
                Message { front, rest } => {
                    let parts = [IoSlice::new(front), IoSlice::new(rest)];
                    stream.poll_write_vectored(context, &parts)
                }
            };
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                len => message.advance(len),
            }
        }
        // A stream with TLS may hold the end of it back.
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        *left = None;
        Poll::Ready(Ok(()))
    }

    fn poll_answer(
        &mut self,
        answer: &mut Answer,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Broken>> {
        loop {
            self.make_room()?;
            let mut read = ReadBuf::new(&mut self.buffer[self.end..]);
            let result = ready!(Pin::new(&mut self.stream).poll_read(context, &mut read));
            let len = read.filled().len();
            if result.is_err() {
                return Poll::Ready(Err(Broken));
            }
            if len == 0 {
                self.open = false;
                return Poll::Ready(self.decoder.end());
            }
            self.end += len;
            let received = &self.buffer[self.start..self.end];
            self.start += self.decoder.decode(received, answer)?;
            if self.decoder.is_complete() {
                // Nothing can follow an answer before the next request.
                self.open &= self.decoder.keeps_alive() && self.start == self.end;
                (self.start, self.end) = (0, 0);
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Makes room for what is read next, behind what has to be looked at again.
    fn make_room(&mut self) -> Result<(), Broken> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            if self.end >= HEAD_BYTES_MAX {
                return Err(Broken);
            }
            self.buffer.resize(2 * self.end, 0);
        }
        Ok(())
    }

    /// Whether another request can be sent, as far as is known.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Is ready when the server has closed the idle connection, or sent what nobody asked for.
    pub(super) fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.open {
            let mut byte = [0];
            let read = Pin::new(&mut self.stream).poll_read(context, &mut ReadBuf::new(&mut byte));
            // An end, an error and a byte all mean the same.
            let _ = ready!(read);
            self.open = false;
        }
        Poll::Ready(())
    }

    /// Sends a request on an idle connection, and reads its answer to the end. The connection is of no use after an
    /// error, or if the future is dropped.
    pub(super) async fn exchange(
        &mut self,
        message: Message<'_>,
        answer: &mut Answer,
    ) -> Result<(), Broken> {
        let mut sending = Some(message);
        self.decoder.next();
        let exchanged = poll_fn(|context| {
            if sending.is_some()
                && let Poll::Ready(sent) = self.poll_send(&mut sending, context)
                && sent.is_err()
            {
                // The server may have answered before it closed the connection.
                sending = None;
                self.open = false;
            }
            self.poll_answer(answer, context)
        })
        .await;
        // An answer that came before the request was sent: the rest of that cannot follow any more.
        self.open &= sending.is_none() && exchanged.is_ok();
        exchanged
    }
}

impl Message<'_> {
    fn is_empty(&self) -> bool {
        self.front.is_empty() && self.rest.is_empty()
    }

    /// Leaves out what was sent.
    fn advance(&mut self, len: usize) {
        let of_front = len.min(self.front.len());
        self.front = &self.front[of_front..];
        self.rest = &self.rest[len - of_front..];
    }
}
